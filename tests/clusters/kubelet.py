"""What a node is to Kubernetes, as far as Spark's pods need it: their containers are processes of this machine.

Each runs the entry point of an image with what the pod says: arguments, variables, and volumes, which are folders here,
so that their paths are replaced in arguments, variables and files. A pod has an address of the loopback network; names
of services are in a file of hosts, which JVMs read. Logs are served to the API server.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import socket
import ssl
import subprocess
import threading
import time
import urllib.error
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .kube_api import Api

NODE = "this-machine"


@dataclass
class Kubelet:
    """Runs all pods that there are.

    Parameters
    ----------
    api
        The API server, for one who may do everything.
    folder
        For logs, volumes and the file of hosts.
    entry_point
        Of every image.
    variables
        Of every image.
    """

    api: Api
    folder: Path
    entry_point: Path
    variables: Mapping[str, str]
    _processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    _ended: bool = False
    _numbers: Iterator[int] = field(default_factory=lambda: itertools.count(10))

    def start(self) -> None:
        """Announce the node, and begin to run pods."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), type("Logs", (_Logs,), {"folder": self.folder}))
        identity = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        identity.load_cert_chain(self.api.certificate, self.api.certificate.with_suffix(".key"))
        server.socket = identity.wrap_socket(server.socket, server_side=True)
        self.api.ask("POST", "/api/v1/nodes", {"metadata": {"name": NODE}})
        addresses = [{"type": "InternalIP", "address": "127.0.0.1"}]
        endpoints = {"kubeletEndpoint": {"Port": server.server_port}}
        self.api.set_status(f"/api/v1/nodes/{NODE}", {"addresses": addresses, "daemonEndpoints": endpoints})
        for loop in (server.serve_forever, self._watch):
            threading.Thread(target=loop, daemon=True).start()

    def stop(self) -> None:
        """End all that still runs."""
        self._ended = True
        for process in self._processes.values():
            self._signal(process, signal.SIGKILL)

    def _watch(self) -> None:
        while True:
            with suppress(OSError), self.api.open("GET", "/api/v1/pods?watch=true&resourceVersion=0") as events:
                for event in map(json.loads, events):
                    pod = event["object"]
                    process = self._processes.get(pod["metadata"]["uid"])
                    if event["type"] == "DELETED" or "deletionTimestamp" in pod["metadata"]:
                        if process is not None:
                            self._signal(process, signal.SIGTERM)
                    elif process is None and "nodeName" not in pod["spec"]:
                        threading.Thread(target=self._until_end, args=(pod,), daemon=True).start()
            time.sleep(0.2)

    def _signal(self, process: subprocess.Popen[bytes], number: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)

    def _until_end(self, pod: dict[str, Any]) -> None:
        try:
            self._run(pod)
        except OSError:
            if not self._ended:
                raise

    def _run(self, pod: dict[str, Any]) -> None:
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        path, container = f"/api/v1/namespaces/{namespace}/pods/{name}", pod["spec"]["containers"][0]
        pod["status"]["podIP"] = f"127.0.0.{next(self._numbers)}"
        bound = {"metadata": {"name": name}, "target": {"kind": "Node", "name": NODE}}
        self.api.ask("POST", f"{path}/binding", bound)
        mounts = self._mounts(pod, container)
        self._write_hosts(pod)
        state = {"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0}
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen(
                [str(self.entry_point), *(_moved(each, mounts) for each in container["args"])],
                env={**self.variables, **_variables(pod, container, mounts)},
                cwd=self._made(pod, "work"),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes[pod["metadata"]["uid"]] = process
        with suppress(urllib.error.HTTPError):  # the pod may be gone
            running = {"ready": True, "started": True, "state": {"running": {}}}
            status = {"podIP": pod["status"]["podIP"], "containerStatuses": [{**state, **running}]}
            self.api.set_status(path, {"phase": "Running", **status})
            code = process.wait()
            ended = {"ready": False, "started": False, "state": {"terminated": {"exitCode": code % 256}}}
            self.api.set_status(
                path, {"phase": "Failed" if code else "Succeeded", "containerStatuses": [state | ended]}
            )
            if "deletionTimestamp" in self.api.ask("GET", path)["metadata"]:
                self.api.ask("DELETE", path, {"gracePeriodSeconds": 0})

    def _made(self, pod: dict[str, Any], name: str) -> Path:
        folder = self.folder / pod["metadata"]["uid"] / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _mounts(self, pod: dict[str, Any], container: dict[str, Any]) -> dict[str, str]:
        """The folder that stands for each path at which a volume is mounted."""
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        folders = {name: self._made(pod, name) for name in volumes}
        mounts = {each["mountPath"]: str(folders[each["name"]]) for each in container["volumeMounts"]}
        namespace = f"/api/v1/namespaces/{pod['metadata']['namespace']}"
        for name, volume in volumes.items():
            if "configMap" in volume:
                found = self._waited_for(f"{namespace}/configmaps/{volume['configMap']['name']}")
                for file, contents in found["data"].items():
                    (folders[name] / file).write_text(_moved(contents, mounts))
            elif "projected" in volume:  # what a pod is to Kubernetes: the account's token
                account = f"{namespace}/serviceaccounts/{pod['spec']['serviceAccountName']}"
                bound = {key: pod["metadata"][key] for key in ("name", "uid")}
                asked = {"spec": {"boundObjectRef": {"apiVersion": "v1", "kind": "Pod", **bound}}}
                token = self.api.ask("POST", f"{account}/token", asked)["status"]["token"]
                (folders[name] / "token").write_text(token)
                (folders[name] / "ca.crt").write_bytes(self.api.certificate.read_bytes())
        return mounts

    def _waited_for(self, path: str) -> Any:
        """Something that is made after the pod that needs it."""
        for _ in range(100):
            with suppress(urllib.error.HTTPError):
                return self.api.ask("GET", path)
            time.sleep(0.2)
        raise AssertionError(f"there is no {path}")

    def _write_hosts(self, pod: dict[str, Any]) -> None:
        """Have all services found at the address of the pod that they select."""
        lines = [f"127.0.0.1 localhost {socket.gethostname()}"]
        pods = [*self.api.ask("GET", "/api/v1/pods")["items"], pod]
        for service in self.api.ask("GET", "/api/v1/services")["items"]:
            selector, of = service["spec"].get("selector", {}), service["metadata"]
            for each in pods:
                if "podIP" in each["status"] and selector and selector.items() <= each["metadata"]["labels"].items():
                    lines.append(f"{each['status']['podIP']} {of['name']}.{of['namespace']}.svc")
        (self.folder / "hosts").write_text("\n".join(lines) + "\n")


def _variables(pod: dict[str, Any], container: dict[str, Any], mounts: Mapping[str, str]) -> dict[str, str]:
    of_pod = {"status.podIP": pod["status"]["podIP"], "metadata.name": pod["metadata"]["name"]}
    return {
        each["name"]: of_pod[each["valueFrom"]["fieldRef"]["fieldPath"]]
        if "valueFrom" in each
        else _moved(each.get("value", ""), mounts)
        for each in container["env"]
    }


def _moved(text: str, mounts: Mapping[str, str]) -> str:
    for path, folder in mounts.items():
        text = text.replace(path, folder)
    return text


class _Logs(BaseHTTPRequestHandler):
    """Answers /containerLogs/NAMESPACE/POD/CONTAINER, all of it."""

    folder: Path

    def do_GET(self) -> None:
        contents = (self.folder / f"{self.path.split('/')[3]}.log").read_bytes()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(contents)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""
