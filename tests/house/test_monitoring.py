"""The alerts and the dashboard that ship speak of metrics that there are."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from django_prometheus.middleware import Metrics
from prometheus_client import REGISTRY

from memories import readings
from memories.proxy import metrics
from novamem import env, request_queues

MONITORING = env.ROOT / "script" / "deploy" / "monitoring"
RULES = yaml.safe_load((MONITORING / "alerts.yaml").read_text())
ALERTS = [rule for group in RULES["groups"] for rule in group["rules"]]
DASHBOARD = json.loads((MONITORING / "grafana.json").read_text())
ASKED = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
METRIC = re.compile(r"\b(?:novamem|nova|django|process|python)_\w+")
# Prometheus' own, of the scrape itself.
OF_PROMETHEUS = {"up"}


@pytest.fixture(scope="module")
def known():
    """Every name under which /metrics may tell a sample."""
    assert metrics  # whose counters are made when they are imported
    assert request_queues
    Metrics.get_instance()  # Django's are made with the first request
    found = set(REGISTRY._names_to_collectors)
    return found | {f"novamem_{name}{'_total' if name in readings.COUNTERS else ''}" for name in readings.NAMES}


@pytest.mark.parametrize("expression", [rule["expr"] for rule in ALERTS] + ASKED)
def test_each_metric_that_is_named_is_there(expression, known):
    names = set(METRIC.findall(re.sub(r'"[^"]*"', '""', expression)))
    assert names or expression.startswith(tuple(OF_PROMETHEUS))
    assert names <= known


@pytest.mark.parametrize("rule", ALERTS, ids=lambda rule: rule["alert"])
def test_each_alert_says_how_bad_it_is_and_what_to_do(rule):
    page = (env.ROOT / "docs" / "operations.md").read_text()
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    assert re.fullmatch(r"\d+[mhd]", rule["for"])
    assert rule["annotations"]["summary"]
    assert f"| `{rule['alert']}` |" in page


def test_each_reading_is_looked_at():
    text = " ".join([*ASKED, *(rule["expr"] for rule in ALERTS)])
    assert {name for name in readings.NAMES if f"novamem_{name}" not in text} == set()


def test_names_are_given_once():
    assert len({rule["alert"] for rule in ALERTS}) == len(ALERTS)
    assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(DASHBOARD["panels"])


@pytest.mark.long
@pytest.mark.promtool
@pytest.mark.parametrize("path", [MONITORING / "alerts.yaml"], ids=lambda path: Path(path).name)
def test_promtool_takes_the_rules(path):
    done = subprocess.run(["promtool", "check", "rules", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
