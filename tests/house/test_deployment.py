"""The files for images, Compose, Kubernetes, systemd and proxies name what there is; no unit is root."""

import configparser
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands

from novamem import env

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "script" / "deploy"
COMMANDS = {"web", "worker", "scheduler", "upgrade", *get_commands()}
OWNING = {"upgrade", "indexes"}
LIBRARIES = {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}
SETTINGS = set(env.Settings.model_fields)
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
KUBERNETES = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OPERATIONS = (ROOT / "docs" / "operations.md").read_text()


def services():
    """Those of Compose that run the product."""
    return {name: one for name, one in COMPOSE["services"].items() if one.get("image") == "novamem"}


def pods():
    """By unit: the pod of each workload of Kubernetes."""
    found = [one for one in KUBERNETES if one["kind"] in ("Job", "Deployment")]
    return {one["metadata"]["name"].removeprefix("novamem-"): one["spec"]["template"]["spec"] for one in found}


def systemd(path):
    """The sections of a unit; what stands twice stands as lines."""
    sections = {}
    for line in path.read_text().splitlines():
        if head := re.fullmatch(r"\[(\w+)\]", line):
            section = sections.setdefault(head[1], {})
        elif line and not line.startswith("#"):
            key, value = line.split("=", 1)
            section.setdefault(key, []).append(value)
    return sections


def test_every_way_has_every_unit():
    units = {"web", "worker", "scheduler", "indexes", "upgrade"}
    assert services().keys() == pods().keys() == units
    assert {path.stem.removeprefix("novamem-") for path in UNITS} == units


@pytest.mark.parametrize("name", services())
def test_services_of_compose_run_what_there_is(name):
    service = services()[name]
    assert service["command"][0] in COMMANDS
    assert service["environment"].keys() <= SETTINGS
    assert ("DATABASE_OWNER_URL" in service["environment"]) == (name in OWNING)
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]


def test_compose_waits_for_the_upgrade_and_makes_redis_optional():
    waiting = {name: one["depends_on"] for name, one in services().items() if name != "upgrade"}
    assert {str(one) for one in waiting.values()} == {"{'upgrade': {'condition': 'service_completed_successfully'}}"}
    assert services()["upgrade"]["depends_on"]["postgres"] == {"condition": "service_healthy"}
    assert COMPOSE["services"]["redis"]["profiles"] == ["redis"]
    assert "pgvector" in COMPOSE["services"]["postgres"]["image"]
    mounted = {str(volume).split(":")[0] for one in COMPOSE["services"].values() for volume in one.get("volumes", [])}
    assert mounted == set(COMPOSE["volumes"])


@pytest.mark.parametrize("name", pods())
def test_pods_run_what_there_is_as_nobody_special(name):
    pod = pods()[name]
    (container,) = pod["containers"]
    assert container["args"][0] in COMMANDS
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["runAsUser"] == 10001
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    sources = {one[kind]["name"] for one in container["envFrom"] for kind in one}
    assert sources == {"novamem", *(["novamem-owner"] if name in OWNING else [])}
    assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}


def test_what_kubernetes_names_is_there():
    assert {one["apiVersion"] for one in KUBERNETES} == {"v1", "apps/v1", "batch/v1", "networking.k8s.io/v1"}
    for one in KUBERNETES:
        if one["kind"] in ("ConfigMap", "Secret"):
            assert (one.get("data") or one["stringData"]).keys() <= SETTINGS
        if one["kind"] == "Deployment":
            labels = one["spec"]["template"]["metadata"]["labels"]
            assert one["spec"]["selector"]["matchLabels"] == labels
    (service,) = (one for one in KUBERNETES if one["kind"] == "Service")
    assert service["spec"]["selector"] == {"app": "novamem", "unit": "web"}
    (container,) = pods()["web"]["containers"]
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert (
        container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    )  # not /readyz: a database away is no reason to kill


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.stem)
def test_units_of_systemd_run_what_there_is_as_nobody_special(path):
    configparser.ConfigParser(strict=False, interpolation=None).read_string(path.read_text())
    service = systemd(path)["Service"]
    (command,) = service["ExecStart"]
    program, name, *_ = command.split()
    assert os.access(ROOT / program.removeprefix("/opt/novamem/"), os.X_OK)
    assert name in COMMANDS
    assert service["User"] == ["novamem"]
    owner = ["/etc/novamem/owner"] if name in OWNING else []
    assert service["EnvironmentFile"] == ["/etc/novamem/env", *owner]
    assert ("Type" in service) == (name == "upgrade")
    assert ("Install" in systemd(path)) == (name != "upgrade")


def test_commands_run_with_the_settings_of_the_units_as_their_user(tmp_path):
    for name, line in (("env", "METRICS_TOKEN='a b&c'"), ("owner", "DATABASE_OWNER_URL=postgres://of-the-owner")):
        (tmp_path / name).write_text(f"# why\n{line}\n")
    text = (DEPLOY / "novamem").read_text()
    assert text.count("/etc/novamem/") == 2
    (tmp_path / "novamem").write_text(text.replace("/etc/novamem", str(tmp_path)))
    told = tmp_path / "runuser"
    told.write_text('#!/bin/sh\nprintf "%s|" "$@" "$METRICS_TOKEN" "$DATABASE_OWNER_URL" "$HOME" "$(umask)"\n')
    told.chmod(0o755)
    given = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", tmp_path / "novamem", "restore", "a b"], env=given, capture_output=True, text=True)
    expected = [
        "-u",
        "novamem",
        "--",
        "/opt/novamem/script/manage",
        "restore",
        "a b",
        "a b&c",
        "postgres://of-the-owner",
    ]
    assert (done.returncode, done.stdout.split("|")) == (0, [*expected, "/var/lib/novamem", "0077", ""]), done.stderr


def test_the_image_runs_what_there_is_as_nobody_special():
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.findall(r"^USER (.+)$", final, re.MULTILINE) == ["10001:10001"]
    named = re.findall(r"(\w+)=", " ".join(re.findall(r"^ENV (.+)$", final, re.MULTILINE)))
    assert set(named) <= SETTINGS | LIBRARIES
    (entry,) = re.findall(r'^ENTRYPOINT \["(.+)"\]$', final, re.MULTILINE)
    assert os.access(ROOT / entry, os.X_OK)
    assert re.findall(r'^CMD \["(\w+)"\]$', final, re.MULTILINE) == ["web"]
    assert "'GET', '/healthz'" in final


@pytest.mark.parametrize("name", ["nginx.conf", "Caddyfile"])
def test_proxies_name_the_settings_that_belong_to_them(name):
    told = set(re.findall(r"\b([A-Z][A-Z_]+)=", (DEPLOY / name).read_text()))
    assert told == {"BEHIND_TLS", "ALLOWED_HOSTS", "TRUSTED_PROXIES", "URL_PREFIX"} <= SETTINGS


def test_nginx_sets_the_headers_anew_and_streams():
    text = (DEPLOY / "nginx.conf").read_text()
    for line in (
        "proxy_set_header Host $host;",
        "proxy_set_header X-Forwarded-Proto $scheme;",
        "proxy_set_header X-Forwarded-For $remote_addr;",
        "proxy_buffering off;",
        "client_max_body_size 0;",
    ):
        assert line in text
    assert text.count("{") == text.count("}")


def test_the_page_for_operators_has_every_setting_and_no_other():
    cells = re.findall(r"^\| (`[A-Z0-9_`, ]+`) \|", OPERATIONS.partition("## Settings")[2], re.MULTILINE)
    assert sorted(re.findall(r"[A-Z0-9_]+", " ".join(cells))) == sorted(SETTINGS)


def test_the_page_for_operators_names_every_file():
    for path in (*DEPLOY.rglob("*"), ROOT / "Dockerfile", ROOT / "compose.yaml"):
        if path.is_file():
            assert path.name in OPERATIONS or path.parent.name in OPERATIONS


def test_the_version_stands_in_one_place():
    assert re.fullmatch(r"\d+\.\d+\.\d+", env.VERSION)
    modules = [path for package in ("novamem", "memories", "conflicts") for path in (ROOT / package).rglob("*.py")]
    assert [path for path in modules if f'"{env.VERSION}"' in path.read_text()] == []


def test_the_changelog_begins_with_the_version():
    first = re.search(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert re.fullmatch(rf"{re.escape(env.VERSION)} \((unreleased|\d{{4}}-\d\d-\d\d)\)", first[1])
