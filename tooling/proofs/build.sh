#!/usr/bin/env bash
# Check all proofs, print what each theorem assumes, and compile the checker: tooling/proofs/build.sh OUTPUT-DIRECTORY.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1
for program in coqc ocamlopt; do  # Debian's coq depends on the OCaml that compiled it
    command -v "$program" >/dev/null || { echo "$program is missing:  sudo apt install --no-install-recommends coq" >&2; exit 2; }
done
mkdir -p "$out"
cp "$here"/*.v "$here/main.ml" "$out"
cd "$out"
for name in Model Runs Account Deadlock Delivery Tree Waves Ring Check Assumptions Extract; do
    coqc -q -Q . Tagloom "$name.v"
done
ocamlopt -w -a -o check-certificate checker.mli checker.ml main.ml  # warnings are about extracted code
echo "built $out/check-certificate" >&2
