"""The nouns every verb speaks of: frozen, validated on construction, no input or output."""
