"""The records that all other packages share: frozen, validated on construction, no input or output."""
