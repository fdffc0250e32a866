"""Speak NetBox's REST interface over pynetbox: read devices and their cables, write config contexts."""

from __future__ import annotations

import io
from ipaddress import ip_address
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from tagloom.errors import DeviceError, Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

T = TypeVar("T")
PATIENCE_SECONDS = 30.0
PAGE_OBJECTS = 250
PAGE_BYTES = 1 << 26
MOST_OBJECTS = 1 << 18
VALUES_A_QUESTION = 100  # a URL has a few thousand characters


def is_url(text: str) -> bool:
    """Return whether words name a NetBox, and no file."""
    return text.startswith(("http://", "https://"))


def batched(values: Sequence[T]) -> Iterator[list[T]]:
    """Yield values in lists that one question takes."""
    for begin in range(0, len(values), VALUES_A_QUESTION):
        yield list(values[begin : begin + VALUES_A_QUESTION])


class NetBox:
    """One NetBox: its URL and the token that it knows us by, which no message shows."""

    def __init__(self, url: str, token: str) -> None:
        """Make the session. Raises InputError where the URL cannot be used, or pynetbox is missing."""
        self.url, self._token = url, token
        _check_url(url, token)
        try:
            import pynetbox  # noqa: PLC0415 - an extra
        except ImportError:
            raise InputError([Finding(url, "pynetbox:  pip install 'tagloom[netbox]'", "not installed")]) from None
        self._errors = (pynetbox.RequestError, pynetbox.ContentError)
        self._api = pynetbox.api(url, token=token or None)
        self._api.http_session = _Guarded(self._api.base_url)

    def devices(self, **filters: Any) -> list[dict[str, Any]]:
        """Return devices as NetBox answers them, those that filters name. Raises DeviceError."""
        return self._read("dcim/devices", [filters])

    def devices_named(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return the devices that have one of some names. Raises DeviceError."""
        return self._read("dcim/devices", [{"name": some} for some in batched(names)])

    def of_devices(self, endpoint: str, ids: Sequence[int]) -> list[dict[str, Any]]:
        """Return what an endpoint has of some devices, each object once. Raises DeviceError."""
        found = self._read(endpoint, [{"device_id": some} for some in batched(ids)])
        return list({each["id"]: each for each in found}.values())

    def write_contexts(self, devices: Sequence[Mapping[str, Any]]) -> None:
        """Replace the local config contexts of devices, each with its `id`. Raises DeviceError."""
        for some in batched(devices):
            sent = [{key: each[key] for key in ("id", "local_context_data")} for each in some]
            with _AsDeviceError(self, "PATCH dcim/devices"):
                self._api.dcim.devices.update(sent)

    def _read(self, endpoint: str, questions: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
        app, _, name = endpoint.partition("/")
        found: list[dict[str, Any]] = []
        for filters in questions:
            with _AsDeviceError(self, f"GET {endpoint}"):
                source = getattr(getattr(self._api, app), name.replace("-", "_"))
                records = source.filter(**filters, limit=PAGE_OBJECTS) if filters else source.all(limit=PAGE_OBJECTS)
                found += (dict(record) for record in islice(records, MOST_OBJECTS - len(found)))
        return found

    def failure(self, question: str, error: Exception) -> DeviceError | None:
        """Return what a failed question is told as; None for a fault of another kind."""
        import requests  # noqa: PLC0415 - pynetbox brings it

        known = (*self._errors, requests.RequestException, ValueError, KeyError, TypeError, OSError)
        if not isinstance(error, known):
            return None
        words = " ".join(str(getattr(error, "error", error) if error.__class__ is self._errors[1] else error).split())
        refused = getattr(getattr(error, "req", None), "status_code", 0) in {401, 403}
        words += " (its token is read from TAGLOOM_NETBOX_TOKEN)" if refused else ""
        return DeviceError(f"NetBox at {self.url}", question, words.replace(self._token or "\0", "***")[:400])


class _AsDeviceError:
    """Turn what goes wrong while NetBox is asked into DeviceError."""

    def __init__(self, netbox: NetBox, question: str) -> None:
        self._netbox, self._question = netbox, question

    def __enter__(self) -> None:
        """Begin a question."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """Raise DeviceError in place of what was raised."""
        if isinstance(error, Exception) and (failure := self._netbox.failure(self._question, error)) is not None:
            raise failure from None


class _Guarded:
    """A session that asks one server alone: no page, and no redirection, leads the token to another."""

    def __init__(self, base: str) -> None:
        import requests  # noqa: PLC0415 - pynetbox brings it

        self._base = f"{base.rstrip('/')}/"
        self._session = requests.Session()
        self._session.auth = lambda request: request  # or a line of .netrc would replace the token

    def get(self, url: str, **more: Any) -> Any:
        """Return the answer to a GET. Raises ValueError and requests' errors."""
        return self._ask("GET", url, more)

    def patch(self, url: str, **more: Any) -> Any:
        """Return the answer to a PATCH. Raises ValueError and requests' errors."""
        return self._ask("PATCH", url, more)

    def _ask(self, verb: str, url: str, more: dict[str, Any]) -> Any:
        if not url.startswith(self._base):
            raise ValueError(f"a page at {url[:200]}, which is another server")
        answer = self._session.request(verb, url, **more, timeout=PATIENCE_SECONDS, allow_redirects=False, stream=True)
        if answer.is_redirect:
            raise ValueError(f"it redirects to {answer.headers['location'][:200]}: name that URL")
        content = answer.raw.read(PAGE_BYTES + 1, decode_content=True)
        if len(content) > PAGE_BYTES:
            raise ValueError(f"an answer of more than {PAGE_BYTES} bytes")
        answer.raw = io.BytesIO(content)
        return answer


def _check_url(url: str, token: str) -> None:
    """Raise InputError for a URL that shows secrets, or leads a token over a network where it can be read."""
    expected = "the URL of a NetBox, such as https://netbox.example, without login or query"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port  # which is checked when it is read
    except ValueError:
        raise InputError([Finding("NetBox", expected, "another")]) from None
    if not is_url(url) or not host or parts.username or parts.password or parts.query or parts.fragment:
        raise InputError([Finding("NetBox", expected, "another")])
    if parts.scheme == "http" and token and not _is_loopback(host):
        raise InputError([Finding(url, "https: a token over http can be read on the way", "http")])


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
