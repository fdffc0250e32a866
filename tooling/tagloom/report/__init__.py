"""Turn records into text for people, at most 80 columns wide, in a stable order."""
