"""SNMP settings: every finding at once, secrets never repeated, the environment before the page."""

import pytest

from tagloom.errors import InputError
from tagloom.read import read_snmp_settings
from tagloom.records.snmp import AUTH_PROTOCOLS


def test_the_environment_goes_before_the_page(tmp_path):
    page = tmp_path / "snmp.yml"
    page.write_text("user: watcher\nauth_password: from-the-page\npriv_password: from-the-page\nport: 1161\n")
    found = read_snmp_settings(page, {"TAGLOOM_SNMP_AUTH_PASSWORD": "from-outside", "TAGLOOM_SNMP_USER": ""})
    assert (found.user, found.port, found.version) == ("watcher", 1161, "3")
    assert (found.credentials.auth_password, found.credentials.priv_password) == ("from-outside", "from-the-page")
    assert "from" not in repr(found.credentials)


def test_every_finding_is_told_at_once_and_no_secret_with_it(tmp_path):
    page = tmp_path / "snmp.yml"
    page.write_text(
        "version: 3\nauth_password: short\npriv_password: tiny\nauth_protocol: SHA9\npriv_protocol: ROT13\n"
    )
    with pytest.raises(InputError) as caught:
        read_snmp_settings(page, {})
    long = "8 characters or more"
    said = [str(finding) for finding in caught.value.findings]
    assert said == [
        f"{page}: user: expected a user, here or in TAGLOOM_SNMP_USER, actual none",
        f"{page}: auth_password: expected {long}, here or in TAGLOOM_SNMP_AUTH_PASSWORD, actual 5 characters",
        f"{page}: priv_password: expected {long}, here or in TAGLOOM_SNMP_PRIV_PASSWORD, actual 4 characters",
        f"{page}: auth_protocol: expected one of {', '.join(AUTH_PROTOCOLS)} (did you mean SHA?), actual 'SHA9'",
        f"{page}: priv_protocol: expected one of AES, AES-192, AES-256, DES, actual 'ROT13'",
    ]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("colour: red\n", "colour"),
        ("port: 70000\n", "less than or equal to 65535"),
        ("community: 12345678\nversion: 2c\n", "actual something else"),
        ("- a list\n", "expected a mapping, actual list"),
        ("a: [\n", "readable YAML"),
    ],
)
def test_what_is_no_page_of_settings_is_a_finding(tmp_path, text, says):
    page = tmp_path / "snmp.yml"
    page.write_text(text)
    with pytest.raises(InputError, match=says):
        read_snmp_settings(page, {})


def test_without_a_page_the_environment_is_enough():
    found = read_snmp_settings(None, {"TAGLOOM_SNMP_COMMUNITY": "public"}, "2c")
    assert (found.version, found.community, found.port) == ("2c", "public", 161)
    with pytest.raises(InputError, match="SNMP: community: expected a community"):
        read_snmp_settings(None, {}, "2c")
