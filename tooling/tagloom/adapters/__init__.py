"""The wires: SSH and SNMP to switches, an SQLite history, Prometheus; later power meters."""
