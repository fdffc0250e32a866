"""Put records into words for people, at most 80 columns wide, in a stable order."""
