"""The files in deploy/ are what they say: they parse, they are bounded, and the process each one starts answers."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import psutil
import pytest

from tests import pages

yaml = pytest.importorskip("yaml")
pytest.importorskip("tornado")

DEPLOY = pages.ROOT / "deploy"
UNITS = sorted(DEPLOY.glob("*.service"))
MANIFESTS = sorted(DEPLOY.glob("*.yaml"))
PROBES = ("startupProbe", "readinessProbe", "livenessProbe")


def unit(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text("utf-8").splitlines() if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def objects(path: Path) -> dict[str, dict]:
    return {one["kind"]: one for one in yaml.safe_load_all(path.read_text("utf-8"))}


def container(path: Path) -> dict:
    (found,) = objects(path)["Deployment"]["spec"]["template"]["spec"]["containers"]
    return found


def image_command() -> list[str]:
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    return json.loads(re.search(r"^CMD (\[.*\])$", text, re.MULTILINE).group(1))


COMMANDS = {
    "Containerfile": image_command(),
    **{path.name: shlex.split(unit(path)["ExecStart"]) for path in UNITS},
    **{path.name: container(path)["command"] for path in MANIFESTS},
}


def option(command: list[str], name: str, otherwise: str) -> str:
    return command[command.index(name) + 1] if name in command else otherwise


def test_there_is_a_unit_and_a_manifest_for_each_way():
    assert len(UNITS) == len(MANIFESTS) == 2
    assert sorted("--crowd" in command for command in COMMANDS.values()) == [False, False, True, True, True]


@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_are_what_systemd_takes(path, tmp_path):
    told = unit(path)
    assert {"MemoryMax", "TimeoutStopSec", "DynamicUser", "ProtectSystem", "NoNewPrivileges"} <= told.keys()
    if not shutil.which("systemd-analyze"):
        pytest.skip("no systemd-analyze here")
    copy = tmp_path / path.name
    copy.write_text(path.read_text("utf-8").replace("/opt/npcmem/bin/npcmem", sys.executable))
    run = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True)
    complaints = [line for line in run.stderr.splitlines() if path.name in line]
    assert complaints == []


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_manifests_are_bounded_sticky_and_without_root(path):
    found, inside = objects(path), container(path)
    pod = found["Deployment"]["spec"]["template"]
    assert pod["spec"]["securityContext"]["runAsNonRoot"] is True
    assert inside["securityContext"]["readOnlyRootFilesystem"] is True
    assert inside["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert {"cpu", "memory"} == inside["resources"]["limits"].keys() == inside["resources"]["requests"].keys()
    assert found["Service"]["spec"]["sessionAffinity"] == "ClientIP"
    assert found["Ingress"]["metadata"]["annotations"]["nginx.ingress.kubernetes.io/affinity"] == "cookie"
    labels = pod["metadata"]["labels"]
    assert labels == found["Service"]["spec"]["selector"] == found["Deployment"]["spec"]["selector"]["matchLabels"]
    assert {volume["mountPath"] for volume in inside["volumeMounts"]} == {"/tmp"}


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.name)
def test_probes_and_routes_fit_the_command(path):
    found, inside = objects(path), container(path)
    base = option(inside["command"], "--base-url", "/")
    (port,) = inside["ports"]
    assert str(port["containerPort"]) == option(inside["command"], "--port", "8866")
    for probe in PROBES:
        assert inside[probe]["httpGet"] == {"path": f"{base}health", "port": port["name"]}
    (rule,) = found["Ingress"]["spec"]["rules"]
    (way,) = rule["http"]["paths"]
    assert way["path"] == base.rstrip("/")
    assert way["backend"]["service"]["name"] == found["Service"]["metadata"]["name"]


def test_the_image_runs_without_root_and_asks_its_health():
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    assert re.search(r"^USER \d+:\d+$", text, re.MULTILINE) and "HEALTHCHECK" in text and "/health'" in text
    port = option(image_command(), "--port", "8866")
    assert f"EXPOSE {port}\n" in text and f"127.0.0.1:{port}/health" in text


def test_the_proxy_passes_lines_and_the_base_url_on():
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    assert text.count("{") == text.count("}")
    for needed in ("proxy_set_header Upgrade $http_upgrade;", "Host $http_host;", "location /npcmem/", "limit_conn "):
        assert needed in text


def starts(name: str, tmp_path: Path) -> None:
    """Start the command of a file, at a free port, and ask its health, its front page and what it wrote."""
    command = list(COMMANDS[name])
    port, base = pages.free_port(), option(command, "--base-url", "/")
    command[command.index("--port") + 1] = str(port)
    assert Path(command[0]).name == "npcmem"
    env = {"HOME": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    url = f"http://127.0.0.1:{port}{base}"
    with pages.server("npcmem.cli", *command[1:], ready=f"{url}health", env=env) as process:
        assert urllib.request.urlopen(f"{url}health", timeout=5).read() == b"ok\n"
        assert b"What does it cost" in urllib.request.urlopen(url, timeout=5).read()
        if "--crowd" in command:
            assert [*tmp_path.iterdir()] == []
            psutil.Process(process.pid).terminate()
            assert process.wait(10) == 0


@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if "--crowd" in command])
def test_the_process_of_each_file_answers(name, tmp_path):
    starts(name, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, command in COMMANDS.items() if "--crowd" not in command])
def test_the_voila_process_of_each_file_answers(name, tmp_path):
    starts(name, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("nginx"), reason="no nginx here")
def test_nginx_takes_the_file_and_passes_a_page_and_its_health_on(tmp_path):
    from tests import publish

    front = pages.free_port()
    with publish.crowd(base_url="/npcmem/") as (url, _):
        back = url.split("/")[2]
        site = (DEPLOY / "nginx.conf").read_text("utf-8")
        site = site.replace("127.0.0.1:8866", back).replace("listen 80", f"listen 127.0.0.1:{front}")
        head = f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}}\n"
        paths = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (tmp_path / "nginx.conf").write_text(f"{head}http {{ access_log off; {paths}\n{site}\n}}\n")
        nginx = subprocess.Popen(["nginx", "-c", tmp_path / "nginx.conf", "-e", tmp_path / "log"])
        try:
            proxied = f"http://127.0.0.1:{front}/npcmem/"
            pages._wait(nginx, f"{proxied}health")
            _speaks_through(proxied)
        finally:
            nginx.terminate()
            nginx.wait(10)


def _speaks_through(url: str) -> None:
    import asyncio

    from tornado.httpclient import HTTPRequest
    from tornado.websocket import websocket_connect

    async def speak() -> str:
        origin = {"Origin": "/".join(url.split("/")[:3])}
        line = await websocket_connect(
            HTTPRequest(f"{url}live/{pages.NOTEBOOK.name}".replace("http", "ws", 1), headers=origin)
        )
        await line.write_message('{"state": {"link": "?S=2500"}}')
        return await asyncio.wait_for(line.read_message(), 30)

    assert json.loads(asyncio.run(speak()))["state"]["values"]["S"] == 2500


def test_no_file_names_what_is_not_there():
    for path in DEPLOY.iterdir():
        assert not re.search(r"/(home|Users|root|work)/\w", path.read_text("utf-8")), path.name
    assert {path.name for path in DEPLOY.iterdir()} == {*COMMANDS, "nginx.conf"}
    assert not os.access(DEPLOY / "Containerfile", os.X_OK)
