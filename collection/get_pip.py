"""Install pip from Python's own copy, in place of get-pip.py: `make sanity` needs nothing but a package index."""

import subprocess
import sys

subprocess.run([sys.executable, "-m", "ensurepip"], check=True)
words = [word for word in sys.argv[1:] if not word.startswith("--no-")]
sys.exit(subprocess.call([sys.executable, "-m", "pip", "install", *words]))
