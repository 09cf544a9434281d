"""Kubernetes' API server as a process of this machine, and what is asked of it."""

from __future__ import annotations

import json
import re
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..support.processes import free_port, running
from .processes import ROOT, waited_for

BINARY, JSON = ROOT / ".venv" / "kubernetes" / "api-server", "application/json"


@dataclass(frozen=True)
class Api:
    """The API server, as someone with a token sees it."""

    address: str
    certificate: Path
    token: str

    def open(self, method: str, path: str, body: bytes | None = None, kind: str = JSON) -> Any:
        """The answer as a stream; urllib's HTTPError where it is a refusal."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        asked = urllib.request.Request(self.address + path, body, headers, method=method)
        return urllib.request.urlopen(asked, context=ssl.create_default_context(cafile=str(self.certificate)))

    def ask(self, method: str, path: str, body: Any = None, kind: str = JSON) -> Any:
        """The answer to an object."""
        with self.open(method, path, json.dumps(body).encode() if body is not None else None, kind) as answer:
            return json.load(answer)

    def set_status(self, path: str, status: Mapping[str, Any]) -> None:
        self.ask("PATCH", f"{path}/status", {"status": status}, "application/merge-patch+json")

    def apply(self, manifest: str) -> None:
        """Make all objects of a manifest in YAML, which the API server reads by itself."""
        for document in re.split(r"^---\n", manifest, flags=re.MULTILINE):
            group, kind = (re.search(rf"^{name}: (\S+)", document, re.MULTILINE) for name in ("apiVersion", "kind"))
            namespace = re.search(r"^  namespace: (\S+)", document, re.MULTILINE)
            assert group is not None
            assert kind is not None
            path = f"/{'apis' if '/' in group[1] else 'api'}/{group[1]}"
            path += f"/namespaces/{namespace[1]}" if namespace else ""
            with self.open("POST", f"{path}/{kind[1].lower()}s", document.encode(), "application/yaml"):
                pass

    def of_account(self, namespace: str, name: str) -> Api:
        """The same server for a service account, by a token that it gives."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        return replace(self, token=self.ask("POST", path, {"spec": {}})["status"]["token"])

    def write_config(self, file: Path, namespace: str) -> None:
        """Write what kubectl, and with it spark-submit, takes from KUBECONFIG."""
        cluster = {"server": self.address, "certificate-authority": str(self.certificate)}
        context = {"cluster": "here", "user": "me", "namespace": namespace}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": cluster}],
            "users": [{"name": "me", "user": {"token": self.token}}],
            "contexts": [{"name": "here", "context": context}],
            "current-context": "here",
        }
        file.write_text(json.dumps(config))


@contextmanager
def api_server(folder: Path) -> Iterator[Api]:
    """A server that enforces RBAC, for one who may do everything."""
    folder.mkdir()
    keys, tokens = folder / "accounts.key", folder / "tokens"
    subprocess.run(["openssl", "genrsa", "-out", keys, "2048"], check=True, capture_output=True)
    tokens.write_text("administrator,administrator,1,system:masters\n")
    store, port = free_port(), free_port()
    options = {
        "bind-address": "127.0.0.1",
        "secure-port": port,
        "cert-dir": folder,
        "token-auth-file": tokens,
        "authorization-mode": "RBAC",
        "service-account-issuer": "https://kubernetes.default.svc",
        "service-account-key-file": keys,
        "service-account-signing-key-file": keys,
        "service-cluster-ip-range": "10.0.0.0/24",
        "endpoint-reconciler-type": "none",
    }
    command = [BINARY, folder / "etcd", f"http://127.0.0.1:{store}"]
    command += [f"--{name}={value}" for name, value in options.items()]
    with running(command, folder / "log", {"PATH": ""}) as process:
        waited_for("Serving securely", folder / "log", process)
        api = Api(f"https://127.0.0.1:{port}", folder / "apiserver.crt", "administrator")
        for _ in range(300):
            with suppress(urllib.error.HTTPError):
                api.open("GET", "/readyz").close()
                break
            time.sleep(0.2)
        yield api
