"""No secret of any family's line survives where text of a switch is kept or shown, whatever it is made of."""

import string

from hypothesis import assume, given
from hypothesis import strategies as st

from tagloom import platforms
from tagloom.platforms.secrets import scrub, shown
from tagloom.render.parse import read_text

# X stands for a secret.
LINES = {
    "all": """
enable password X
enable password level 15 X encrypted
enable secret 5 X
username ops password X level 15 encrypted
username ops password encrypted X privilege 15
username ops privilege 15 role network-admin secret sha512 X
user ops password 5 X role network-admin
user 1 password-encrypted X
password 7 X
password X encrypted
radius-server key encrypted X
radius-server host 192.0.2.1 auth-port 1812 acct-port 1813 timeout 3 retransmit 2 key X priority 1 usage dot1.x
radius server key 7 X
tacacs-server host 192.0.2.1 single-connection port 49 timeout 5 key 7 X
encrypted tacacs-server key X
key X
key 7 X
key-string 7 X
snmp-server community X ro view Default
snmp-server community rw 0 X
encrypted snmp-server community X su ipaddress 192.0.2.9
snmp-server host 192.0.2.5 X
snmp-server host 192.0.2.5 traps version 2 X
snmp-server host 192.0.2.5 X traps v2
snmp-server host 192.0.2.5 informs version 2c X udp-port 162
encrypted snmp-server host 192.0.2.5 traps version 1 X filter flt
snmp-server host vrf MGMT 2001:db8::5 version 2c X
rmon event 1 log trap X description high owner ops
rmon event 1 log-trap community X description high owner ops
rmon event 1 both X description high owner ops
banner motd "the password is X"
snmp-server user ada grp v3 auth sha X priv aes 128 X
snmp-server user ada grp v3 encrypted auth md5 X priv des X
snmp-server user ada grp remote 80 auth-sha-key X priv-3des-key X
ip ospf authentication-key 7 X
ip ospf message-digest-key 1 md5 X
area 1 virtual-link 192.0.2.7 message-digest-key 1 md5 7 X
ip ospf authentication encrypt X 100
isis authentication key 7 X
isis password X level-1
area-password X
vrrp 1 authentication text X
vrrp 1 authentication X
standby 1 authentication md5 key-string 7 X
neighbor 192.0.2.7 password 7 X
ntp authentication-key 1 sha1 7 X
ntp authentication-key 1 md5 X
encrypted sntp authentication-key 1 md5 X
sntp authentication-key 1 md5 encrypted X
pre-shared-key address 192.0.2.0 255.255.255.0 key X
crypto isakmp key X address 192.0.2.9
encrypted ssd file passphrase X
ssd file passphrase X
""",
    "hpe-5130-24g-4sfp": """
super password role network-admin simple X
rmon event 1 description null trap X owner Test300
rmon event 2 log-trap X owner user1
set authentication password cipher X
local-user ops password irreversible-cipher X
snmp-agent community write X mib-view iso acl 2000
snmp-agent community read cipher X
snmp-agent target-host trap address udp-domain 192.0.2.5 udp-port 162 params securityname cipher X v2c
snmp-agent usm-user v3 ada grp simple authentication-mode sha X privacy-mode aes128 X
primary authentication 192.0.2.1 1812 key simple X
key accounting cipher X
hwtacacs-server shared-key cipher X
ospf authentication-mode hmac-sha256 1 cipher X
isis authentication-mode md5 cipher X
rip authentication-mode md5 usual cipher X
vrrp vrid 1 authentication-mode simple cipher X
vrrp vrid 1 authentication-mode md5 X
peer 192.0.2.7 password cipher X
md5-password cipher 192.0.2.7 X
ntp-service authentication-keyid 1 authentication-mode hmac-sha256 simple X
mka pre-shared-key ckn X cak simple X
""",
    "mikrotik-crs326-24g-2s": """
/ppp secret add name=u password=X
/ip ipsec identity add peer=p secret="X"
/interface wireless security-profiles set [ find default=yes ] wpa2-pre-shared-key=X wpa-pre-shared-key="X"
/snmp set trap-community=X trap-version=2
/snmp community set [ find default=yes ] addresses=::/0 name=X
/snmp community add name=X authentication-password=X encryption-password="X"
/radius add address=192.0.2.1 secret=X service=login
/system ntp key add key=X key-id=1
/routing ospf interface-template add auth=md5 auth-id=1 auth-key=X
/routing bgp connection add name=x tcp-md5-key=X
/interface wireguard add listen-port=13231 mtu=1420 name=wg1 private-key="X"
/interface macsec add cak=X ckn=X interface=ether1
/interface wifi security add authentication-types=wpa2-psk,wpa3-psk name=s passphrase=X
""",
    "linux-bridge": """
PrivateKey = X
rocommunity X default
trap2sink 192.0.2.5 X
createUser ada SHA X AES X
psk="X"
wpa-psk X
ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1 auth hmac(sha256) X enc cbc(aes) X
ip macsec add macsec0 tx sa 0 pn 1 on key 01 X
wg set wg0 peer x preshared-key X
""",
}
ROWS = [(model, line) for model, lines in LINES.items() for line in lines.strip().splitlines()]
OTHERS = ("powerconnect-5324", "powerconnect-6248", "powerconnect-5548", "n-series", "cisco-cbs350-24t-4g")
OTHERS += ("arista-7010t-48", "huawei-s5731-s24t4x")
MIDDLE = "zqj"  # of every secret, and of no line
ENDS = st.text(string.ascii_letters + string.digits + "-_.+/=!$%^&*@:;,#~", max_size=20)
SECRETS = st.builds("{}{}{}".format, ENDS, st.just(MIDDLE), ENDS)
SHAPED = st.sampled_from(
    ["$1${}$", "$c$3${}==", "$6$rounds=5${}", "%^%#{}%^%#", "0x{}", "{}-password", "key-{}", "{}=x", "{}"]
)


@given(st.sampled_from(ROWS), st.data())
def test_no_secret_of_a_line_survives(row, data):
    model, line = row
    secret = data.draw(SHAPED).format(data.draw(SECRETS))
    assume(not secret.startswith(("#", "!", "<")) and "://" not in secret)
    text = f"vlan 7\n{line.replace('X', secret)}\nexit\n"
    kept = scrub(text)
    assert MIDDLE not in kept
    assert scrub(kept) == kept
    assert kept.startswith("vlan 7\n")
    assert kept.endswith("\nexit\n")
    assert MIDDLE not in shown(text)
    platform = platforms.load(model if model != "all" else data.draw(st.sampled_from(OTHERS)))
    assert MIDDLE not in repr(read_text(platform, text, "s0", [1]).unknown_lines)
    assert MIDDLE not in repr(read_text(platform, text, "s0", [1]).findings)
