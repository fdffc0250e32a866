"""The wires: SSH to switches; later SNMP and power meters."""
