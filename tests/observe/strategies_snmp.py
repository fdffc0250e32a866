"""Make a state with something of everything that Q-BRIDGE-MIB shows."""

from tagloom.records.switch_state import Frames, Membership, PortMode, SwitchEditor


def woven(platform):
    """VLANs 100 to 103: tagged, untagged and no members, PVIDs, one that discards, entries with one and two ports."""
    ports, last = platform.ports, platform.physical_ports
    editor = SwitchEditor.blank(ports)
    for vlan in range(100, 104):
        editor.create_vlan(vlan)
        editor.name_vlan(vlan, "tagloom")
        for port in range(1, ports + 1):
            how = (port + vlan) % 3
            editor.set_member(vlan, port, Membership(how))
    for port in range(1, ports + 1):
        editor.mode[port - 1] = PortMode.GENERAL
        editor.set_member(1, port, Membership.NONE if port < 9 else Membership.UNTAGGED)
        editor.set_pvid(port, 100 + port % 4)
    editor.set_pvid(last, 0)
    editor.frames[0] = Frames.TAGGED_ONLY
    editor.enabled[3] = False
    editor.set_entry(100, 0x0200_0000_0001, [2])
    editor.set_entry(101, 0x0200_0000_0001, [3])
    editor.set_entry(101, 0xFFFF_FFFF_FFFF, [1, 2, 3])
    editor.set_entry(103, 0xA0B0_C0D0_E0F0, [last])
    return editor.freeze()
