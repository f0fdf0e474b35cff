"""The agreed OpenAPI document, read once for all tests: libyaml reads it in a tenth of the time."""

from pathlib import Path

import yaml

DOCUMENT = yaml.load((Path(__file__).parent / "api" / "openapi.yaml").read_text(), Loader=yaml.CSafeLoader)
