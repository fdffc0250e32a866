"""No secret of a configuration's line is shown or kept, whichever family's line it is."""

import pytest

from tagloom.platforms.secrets import scrub, secrets_in

LINES = {
    "username ops password hunter22 level 15": 1,
    "username ops password encrypted hunter22 privilege 15": 1,
    "encrypted snmp-server community hunter22 ro": 1,
    "snmp-server user ops tagloom auth-sha hunter22 priv-aes hunter33": 2,
    "snmp-server user ops tagloom v3 auth sha hunter22 priv hunter33": 2,
    "encrypted snmp-server user ops tagloom v3 auth sha512 hunter22 priv aes hunter33": 2,
    # a secret may end as the words do that secrets stand behind
    "snmp-server user ops tagloom auth-sha hunter-password priv-aes hunter33": 2,
    "snmp-server user ops tagloom v3 auth sha hunter-password priv hunter33": 2,
    "snmp-agent usm-user v3 ops tagloom simple authentication-mode sha hunter-password privacy-mode aes128 hunter33": 2,
    "createUser ops SHA hunter-rocommunity AES hunter33": 2,
    "radius-server host 192.0.2.1 key hunter22 priority 1": 1,
    "encrypted sntp authentication-key 1 md5 hunter22": 1,
    "password simple hunter22": 1,
    "password hash $h$6$hunter22": 1,
    "super password role network-admin hash $h$6$hunter22": 1,
    "set authentication password cipher $c$3$hunter22": 1,
    "snmp-agent community read cipher $c$3$hunter22": 1,
    "snmp-agent community read hunter22": 1,
    "snmp-agent usm-user v3 ops tagloom simple authentication-mode sha hunter22 privacy-mode aes128 hunter33": 2,
    "snmp-agent target-host trap address udp-domain 192.0.2.1 params securityname hunter22 v2c": 1,
    "ntp-service authentication-keyid 1 authentication-mode md5 cipher hunter22": 1,
    "key authentication cipher hunter22": 1,
    "snmp-agent usm-user v3 ops authentication-mode sha cipher hunter22": 1,
    "snmp-agent usm-user v3 ops privacy-mode aes128 cipher hunter22": 1,
    "local-user ops password irreversible-cipher hunter22": 1,
    "radius-server shared-key cipher hunter22": 1,
    "primary authentication 192.0.2.1 key simple hunter22": 1,
    "username ops privilege 15 role network-admin secret sha512 $6$hunter22": 1,
    "username ops secret 0 hunter22": 1,
    "enable password sha512 $6$hunter22": 1,
    "enable secret 5 $1$hunter22": 1,
    "ntp authentication-key 1 md5 7 hunter22": 1,
    "radius-server host 192.0.2.1 key 7 hunter22": 1,
    "tacacs-server key 7 hunter22": 1,
    "snmp-server user ops group v3 auth sha hunter22 priv aes hunter33": 2,
    "/user add name=ops password=hunter22 group=full": 1,
    '/snmp community add name=hunter22 authentication-password="hunter22 33" encryption-password=hunter44': 3,
    "/interface wireless security-profiles set 0 wpa2-pre-shared-key=hunter22": 1,
}
HARMLESS = [
    "snmp-server group tagloom v3 priv read Default",
    "description password vault",
    "management security",
    "aaa authentication login default group radius local",
    "ip ssh password-auth",
    "authentication-mode scheme",
    "undo password-recovery enable",
    "/snmp set enabled=yes contact=ops",
]


@pytest.mark.parametrize("line", LINES)
def test_every_secret_of_a_line_is_hidden(line):
    assert "hunter" not in scrub(line)
    assert scrub(line).count("<hidden>") == len(secrets_in(line)) == LINES[line]
    assert all("hunter" in word for word in secrets_in(line))


@pytest.mark.parametrize("user", ["password", "ops-password", "auth-sha", "password=x"])
def test_a_users_name_hides_no_secret_behind_it(user):
    assert "hunter" not in scrub(f"username {user} password hunter22 level 15\n")
    assert "hunter" not in scrub(f"username {user}\nsnmp-server user {user} {user} auth-sha hunter22 priv-aes hunter33")


@pytest.mark.parametrize("line", HARMLESS)
def test_a_line_without_a_secret_stays(line):
    assert secrets_in(line) == []
    assert line.startswith("description") or scrub(line) == line
