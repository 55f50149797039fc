#!/usr/bin/env bash
# Measures the sample anew, after a change of what records hold: `bash reports/samples/measure.sh`, in a clean checkout, with
# two idle cores and five minutes. Give the plan a new id first: the history of git keeps the heads of the ledger that was,
# and a new ledger under the same name is TAMPERED, as it should be. It commits the lock before the first run. Then `python reports/samples/make.py`.
set -euo pipefail

samples=$(cd "$(dirname "$0")" && pwd)
keys=$(mktemp -d)
trap 'rm -rf "$keys"' EXIT
cd "$samples/suite"
rm -rf ../records anchors passmarks.lock allowed_signers
mkdir ../records

# Keys that exist for these runs only: one keeps heads, one is the host's.
for name in anchor host; do
  ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$keys/$name"
  printf '%s@sample namespaces="pytest-mixgpu-anchor,pytest-mixgpu-record" %s\n' \
    "$name" "$(cut -d' ' -f1,2 "$keys/$name.pub")" >>allowed_signers
done

python make_data.py
pytest -p no:cacheprovider --passmark-freeze --mixgpu-report=../records --mixgpu-anchor="ssh:$keys/anchor"
# One amendment before any run, so that there is one to be seen.
sed -i 's/at_most=0.05, unit="s"/at_most=0.04, unit="s"/' test_stripes.py
pytest -p no:cacheprovider --passmark-amend=stripes-round --mixgpu-report=../records --mixgpu-anchor="ssh:$keys/anchor" \
  --passmark-why='a twenty-fifth of a second is what the next machine promises'
git add benchmark.toml recipes make_data.py pytest.ini test_stripes.py passmarks.lock allowed_signers anchors
git commit -qm "Freeze the sample's pass marks before its first run"

pytest -p no:cacheprovider --gpus=cpu:2 --mixgpu-report=../records --mixgpu-anchor="ssh:$keys/anchor" \
  --mixgpu-host-key="$keys/host" --mixgpu-nonce="$(openssl rand -hex 16)" || true
rm -rf ../records/stripes ../records/.turns ../records/*.lock data
