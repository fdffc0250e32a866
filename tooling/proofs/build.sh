#!/usr/bin/env bash
# Check all proofs: tooling/proofs/build.sh OUTPUT-DIRECTORY. Prints what each theorem assumes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
command -v coqc >/dev/null || { echo "coqc is missing:  sudo apt install --no-install-recommends coq" >&2; exit 2; }
mkdir -p "$out"
cp "$here"/*.v "$out"
cd "$out"
for name in Model Runs Account Deadlock Delivery Tree Waves Check Assumptions Extract; do
    coqc -q -Q . Tagloom "$name.v"
done
