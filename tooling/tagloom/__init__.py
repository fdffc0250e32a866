"""tagloom: deadlock-free multipath routing over commodity Ethernet switches with nothing but 802.1Q tags."""

__version__ = "0.1.0"
