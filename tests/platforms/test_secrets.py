"""No secret of a configuration's line is shown or kept, whichever family's line it is."""

from pathlib import Path

import pytest

from tagloom.platforms import load
from tagloom.platforms.secrets import scrub, secrets_in
from tagloom.render import read_text

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
    "/system ntp key add key-id=1 val=hunter22": 1,
    "radius-server ops shared hunter22": 1,
    "certificate request challenge hunter22": 1,
    "/interface wireless security-profiles set 0 wpa2-pre-shared-key=hunter22": 1,
}
HARMLESS = [
    "service password-encryption",
    "no service password-recovery",
    "passwords min-length 8",
    "passwords aging 180",
    "password-control length 10",
    "password-aging 180",
    "no passwords complexity enable",
    "no enable password",
    'aaa authentication login "defaultList" local',
    "aaa authentication enable default enable none",
    "aaa authorization exec default local",
    "ip http authentication local",
    "ip ssh password-auth",
    "ip ssh pubkey-auth",
    "login authentication networkList",
    "enable authentication enableList",
    "line console",
    "key chain ospf-keys",
    "keychain bgp mode absolute",
    "ip ospf authentication message-digest",
    "ip ospf authentication key-chain ospf-keys",
    "area 0 authentication message-digest",
    "area 0.0.0.0 authentication",
    "isis authentication mode md5",
    "ntp authenticate",
    "ntp trusted-key 1",
    "ntp server 192.0.2.1 key 1",
    "ntp-service unicast-server 192.0.2.1 authentication-keyid 1",
    "ntp-service reliable authentication-keyid 1",
    "sntp authenticate",
    "sntp trusted-key 5",
    "crypto key generate rsa",
    "crypto key zeroize rsa",
    "snmp-server enable traps authentication linkdown",
    "snmp-server host 192.0.2.5 traps version 3 auth ops",
    "snmp-server view Default iso included",
    "snmp-agent trap enable standard authentication coldstart",
    "undo snmp-agent community complexity-check disable",
    "authentication-mode aaa",
    "authentication-scheme radius",
    "authentication-scheme default",
    "authentication-mode radius local",
    "authentication login radius-scheme lab local",
    "primary authentication 192.0.2.1",
    "primary authentication 192.0.2.1 1812",
    "radius-server authentication 192.0.2.1 1812 weight 80",
    "radius-server template lab",
    "radius-server host 192.0.2.1 auth-port 1812 acct-port 1813 timeout 3",
    "ssh user ops authentication-type password",
    "ssh server cipher aes256_ctr aes128_ctr",
    "ssh server key-exchange dh_group16_sha512",
    "dot1x system-auth-control",
    "dot1x authentication-method eap",
    "dot1x timeout reauth-period 3600",
    "ip ssh server algorithm encryption aes256-ctr aes128-ctr",
    "encryption aes 256",
    "hash sha256",
    "switchport private-vlan host-association 10 20",
    "private-vlan primary",
    "spanning-tree mst configuration",
    "name secret-lab",
    "vlan 10 name secret",
    "ip access-list extended auth-in",
    "lacp actor admin key 5",
    "send-community extended",
    "neighbor 192.0.2.1 send-community",
    "set community 65000:1",
    "ssd config",
    "ssd file passphrase control unrestricted",
    "no ssd file integrity control",
    "ssd-control-end cb0a3fdb1f3a1af4e4430033719968c0",
    "file SSD indicator encrypted",
    "username admin nopassword",
    "username ops privilege 15 nopassword",
    "/interface wireless security-profiles set [ find default=yes ] authentication-types=wpa2-psk mode=dynamic-keys",
    "/system ntp key add key-id=1",
    "/ip ipsec proposal set [ find default=yes ] auth-algorithms=sha1 enc-algorithms=aes-256-cbc,aes-128-cbc",
    "/ip ssh set strong-crypto=yes host-key-size=4096 always-allow-password-login=no",
    "/user settings set minimum-password-length=8",
    '/interface bridge port add bridge=bridge comment="key room" interface=ether2',
    "authentication event fail action authorize vlan 100",
    "authentication port-control auto",
    "authentication order dot1x mab",
    "set authentication password none",
    "user-interface vty 0 4",
    "no password",
    "no key",
    "ip http secure-server",
    "management ssh",
    "authentication mode keyboard-interactive",
    "monitor session 1",
    "crypto certificate 1 generate",
    "pki-domain default",
    "local-user ops class manage",
    "service-type ssh terminal",
    "authorization-attribute user-role network-admin",
    "snmp-server group tagloom v3 priv read Default",
    "description password vault",
    "management security",
    "aaa authentication login default group radius local",
    "ip ssh password-auth",
    "authentication-mode scheme",
    "undo password-recovery enable",
    "acl basic 2010",
    "acl advanced name key-servers",
    "portal pass dns enable",
    "password expire 0",
    "undo local-user password change-offline enable",
    "ssh server publickey rsa_sha2_512",
    "public-key peer leaf",
    "ip extcommunity-list sites permit rt 65000:1",
    "add authentication-types=wpa2-psk encryption=aes-ccm name=office",
    "/snmp set enabled=yes contact=ops",
]


# Lines of which a word follows that is not known, and is hidden too; texts over several lines.
MORE = """
rmon event 1 log trap hunter22 description high owner ops
rmon event 1 both hunter22 description high owner ops
rmon event 1 log-trap community hunter22 owner ops
rmon event 1 description null trap hunter22 owner Test300
banner motd "the password is hunter22"
banner motd ^the password is hunter22^
description "key hunter22" uplink
mount.cifs //192.0.2.1/x /y -o user=u,pass=hunter22
snmp-server community hunter22 rw 10
snmp-server community-group hunter22 grp ipaddress 192.0.2.4
snmp-server host collector.example.net hunter22 bgp
snmptrap hunter22 ipaddr 192.0.2.5
username ops ssh-key ssh-rsa hunter22 ops@host
crypto isakmp key 6 hunter22 hostname peer
mka pre-shared-key ckn hunter22 cak simple hunter33
ip macsec add macsec0 tx sa 0 pn 1 on key 01 hunter22
exec /usr/bin/TerminAttr -ingestauth=key,hunter22 -cvauth=token,hunter33
/interface wireguard peers add interface=wg1 public-key="x" preshared-key="hunter 22"
/system script add name=s source=":global key \\"hunter22\\"; /ip address print"
PresharedKey = hunter22
"password": "hunter22",
com2sec notConfigUser default hunter22
snmp-agent usm-user v2c hunter22 grp
rwcommunity6 hunter22 default
proxy -v 2c -c hunter22 192.0.2.1 .1.3
trapsess -v 3 -u joe -a SHA -A hunter22 -x AES -X hunter33 collector
usmUser 1 3 0x8000 "joe" "joe" NULL .1 0xhunter22 .1 0xhunter33 ""
snmpget -v2c -c hunter22 host
mount -t cifs -o username=joe,password=hunter22 //x /y
action bash curl -u joe:hunter22 https://host
curl -H "Authorization: Bearer hunter22" host
/tool fetch url="https://host/x?token=hunter22"
/system script add source=":local pw \\"hunter22\\""
printf 'joe:hunter22\\n' | chpasswd
echo hunter22 | wg pubkey
echo hunter22 | passwd --stdin root
echo 'hunter22' > /etc/wireguard/private.key
username joe pas hunter22
enable passw hunter22
snmp-server comm hunter22 rw
snmp-ser com hunter22
radius-server ho 192.0.2.1 ke hunter22
tacacs-s k hunter22
snmp-agent com read ciph hunter22
<password>hunter22</password>
no snmp-server host 192.0.2.1 hunter22
undo snmp-agent usm-user v2c hunter22 grp
default snmp-server host 192.0.2.1 hunter22
leaf(config)# snmp-server host 192.0.2.1 traps version 2 hunter22
[leaf]snmp-agent usm-user v1 hunter22 grp
+snmp-server host 192.0.2.1 hunter22
-snmptrap hunter22 ipaddr 192.0.2.5
! snmp-server host 192.0.2.1 hunter22
snmp-server  host  192.0.2.1  hunter22
snmp-server vrf MGMT host 192.0.2.1 hunter22
snmp-ser ho 192.0.2.1 hunter22
no com2sec x default hunter22
/snmp/community/set 0 name=hunter22
/tool romon set enabled=yes secrets=hunter22
/container envs add key=PASSWORD name=e value=hunter22
/zerotier set zt1 identity="f55bcabe36:0:fa4f01:hunter22" name=zt1
/tool fetch url="https://api.example.net/bot123456:hunter22/send"
/interface lte set [ find ] pin=hunter22
curl -d 'password=hunter22' https://host
curl -H 'Authorization: hunter22' https://host
sshpass -p'hunter22' ssh host
snmpwalk -v 2c -chunter22 192.0.2.1
snmpget -v 3 -u joe -Ahunter22 -Xhunter22 host sysName.0
ipmitool -H host -U joe -Phunter22 power status
mysql -u root -phunter22 db
docker login -u joe -p hunter22 host
ldapsearch -D cn=x -w hunter22
joe : EAP "hunter22"
bindpw hunter22
-----BEGIN PRIVATE KEY-----\\nhunter22\\n-----END PRIVATE KEY-----
"""
# Passwords that are words of a command line, and the words that they stand behind.
WEAK = {
    "username joe secret 5 secret": "username joe secret <hidden> <hidden>",
    "set authentication password password": "set authentication password <hidden>",
    "primary authentication 192.0.2.1 key simple secret": "primary authentication 192.0.2.1 key <hidden> <hidden>",
    "set authentication password none": "set authentication password none",
}
BODIES = {
    "a certificate": """
crypto pki certificate chain TP-self
 certificate self-signed 01
  30820229 30820192 A0030201 0BADCAFE
  0BADCAFE
  quit
vlan 10""",
    "a private key": """
crypto key import rsa
-----BEGIN RSA PRIVATE KEY-----
Proc-Type: 4,0BADCAFE

0BADCAFE+/=
-----END RSA PRIVATE KEY-----
vlan 10""",
    "a key of SSH2": """
---- BEGIN SSH2 PRIVATE KEY ----
Comment: 0BADCAFE
0BADCAFE==
---- END SSH2 PRIVATE KEY ----
vlan 10""",
    "a certificate that does not end": """
-----BEGIN CERTIFICATE-----
0BADCAFE
interface Gi1/0/2
vlan 10""",
    "a public key's code": """
 public-key-code begin
  30819F30
  0BADCAFE
 public-key-code end
vlan 10""",
    "a key in a mode of its own": """
 key-string
  0BADCAFE
  exit
vlan 10""",
    "communities below their menu": """
/snmp community
set [ find default=yes ] addresses=::/0 name=0BADCAFE
add name=0BADCAFE security=none
/interface vlan
add name=vlan 10""",
    "communities in a menu of their own": """
/snmp/community
add name=0BADCAFE security=none
/interface vlan
add name=vlan 10""",
    "communities below the menu above theirs": """
/snmp
set enabled=yes
community add name=0BADCAFE
/interface vlan
add name=vlan 10""",
    "a value on the next line": """
/interface wireguard
add listen-port=13231 private-key=\\
    "0BADCAFE="
add name=vlan 10""",
}


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


@pytest.mark.parametrize("line", MORE.strip().splitlines())
def test_what_follows_a_secrets_word_is_hidden_though_it_be_no_secret(line):
    assert "hunter" not in scrub(line)
    assert scrub(scrub(line)) == scrub(line)


@pytest.mark.parametrize(("line", "hidden"), WEAK.items())
def test_a_password_that_is_a_known_word_is_hidden(line, hidden):
    assert scrub(line) == hidden


@pytest.mark.parametrize("text", BODIES.values(), ids=BODIES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_stands_on_lines_of_its_own_is_hidden_up_to_its_end(text, end):
    hidden = scrub(text.replace("\n", end))
    assert "0BADCAFE" not in hidden
    assert hidden.endswith("vlan 10")
    assert hidden.count("\n") == text.count("\n")
    assert scrub(hidden) == hidden


@pytest.mark.parametrize(
    "answer", ["Authentication failed.", "% The key is too long", "Authentication to device failed.", "Enter password:"]
)
def test_an_answer_that_speaks_of_secrets_can_still_be_read(answer):
    assert scrub(answer) == answer


@pytest.mark.parametrize("folder", ["comware", "eos", "huawei", "render", "mesh-2x2-fixed-linux-bridge"])
def test_what_tagloom_writes_itself_stays(folder):
    texts = [path for path in (Path(__file__).parents[1] / "golden" / folder).rglob("*") if path.is_file()]
    assert texts
    for path in texts:
        assert scrub(path.read_text("utf-8")) == path.read_text("utf-8")


READ = {  # texts of switches that `adopt` and `verify` read with their secrets hidden, too
    "cisco-cbs350-24t-4g": """
encrypted ip ssh-client key rsa key-pair
---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----
Comment: RSA Private Key
8RhuhqDjqUgeoGhRKerVkCh1OHrQc11YxIINJVB1mV
QwEr
---- END SSH2 PRIVATE KEY ----
.
encrypted crypto key import rsa
---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----
8RhuhqDjqUgeoGhRKerVkCh1OHrQc11YxIINJVB1mV
---- END SSH2 PRIVATE KEY ----
.
encrypted crypto certificate 2 import
-----BEGIN CERTIFICATE-----
MIIDJzCCAg8CEENj0ARxBb6Sh9YrA4UVfWkwDQYJKoZIhvcNAQELBQAwUjELMAkG
QwErTyUi
-----END CERTIFICATE-----
.
encrypted snmp-server community hunter22 ro
""",
    "hpe-5130-24g-4sfp": """#
public-key peer leaf
 public-key-code begin
  30819F300D06092A864886F70D010101
  0203010001
 public-key-code end
peer-public-key end
#
 snmp-agent community read simple hunter22 acl 2010
#
acl basic 2010
 rule permit source 192.0.2.0 0.0.0.255
#
""",
    "mikrotik-crs326-24g-2s": """
/interface lte apn
set [ find default=yes ] ip-type=ipv4 use-network-apn=no
/snmp community
set [ find default=yes ] addresses=::/0 name=hunter22
/snmp
set enabled=yes trap-community=hunter22
/system routerboard settings
set cpu-frequency=auto
/user
add group=full name=ops password=hunter22
""",
    "arista-7050tx-64": """
interface Ethernet40
   description the room of the private-key
   shutdown
!
username ops secret sha512 $6$hunter22
""",
}


@pytest.mark.parametrize("model", READ)
def test_a_text_reads_with_its_secrets_hidden_as_it_reads_with_them(model):
    said, hidden = (read_text(load(model), text, "s0", [1]) for text in (READ[model], scrub(READ[model])))
    assert (said.unknown_lines, said.findings) == ((), ())
    assert (hidden.unknown_lines, hidden.findings, hidden.state) == ((), (), said.state)
