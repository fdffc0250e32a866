"""Ask this machine's own kernel, as a user without capabilities, what it does with a frame and a refused line."""

from pathlib import Path

from tagloom.lab.kernel import choice

INTERFACES = Path("/proc/net/dev")
BRIDGE = "ip link add name tagloom type bridge vlan_filtering 1 vlan_default_pvid 0 mcast_snooping 0"
HOSTS = [[0, 2, "02:00:00:00:00:00"], [1, 2, "02:00:00:00:00:01"], [1, 3, "02:00:00:00:00:02"]]


def lines(untagged):
    """Return the commands of a switch: VLAN 10 tagged on port 1, and one untagged VLAN on each of the others."""
    ports = [f"ip link set dev swp{port} {what}" for port in (1, *untagged) for what in ("master tagloom", "up")]
    members = [f"bridge vlan add dev swp{port} vid {vlan} pvid untagged" for port, vlan in untagged.items()]
    return [BRIDGE, "ip link set dev tagloom up", *ports, "bridge vlan add dev swp1 vid 10", *members]


assert "CapEff:\t0000000000000000" in Path("/proc/self/status").read_text("utf-8")
before = len(INTERFACES.read_text("utf-8").splitlines())
kernel = choice.start(Path("/run/user/log"))
print(kernel.name)
kernel.request("build", switches=2, links=[[0, 1, 1, 1]], hosts=HOSTS)
print(kernel.request("batch", orders={"0": lines({2: 10}), "1": lines({2: 10, 3: 11})})["errors"])
print(kernel.request("send", frames=[[0, HOSTS[1][2]]], patience=0.1)["frames"])
print(kernel.request("batch", orders={"0": ["bridge vlan add dev swp9 vid 10"]})["errors"]["0"][0])
kernel.__exit__()
print("left behind:", len(INTERFACES.read_text("utf-8").splitlines()) - before)
