"""The renderer of answers as JSON."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import JSONRenderer
from rest_framework.utils.encoders import JSONEncoder

# Times are worded by the framework, as they are elsewhere.
OPTIONS = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_NON_STR_KEYS
_wording = JSONEncoder()


class FastJSONRenderer(JSONRenderer):
    """The framework's JSON, written by a faster library where it can."""

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the answer's bytes."""
        if data is None or self.get_indent(accepted_media_type or "", renderer_context or {}):
            return super().render(data, accepted_media_type, renderer_context)
        try:
            return orjson.dumps(data, default=_wording.default, option=OPTIONS)
        except orjson.JSONEncodeError:  # numbers beyond 64 bits
            return super().render(data, accepted_media_type, renderer_context)
