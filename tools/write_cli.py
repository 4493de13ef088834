"""write_cli.py TUNEWIRE: put what `tunewire __docs` says of the verbs into docs/CLI.md; what stands before is by hand."""
import subprocess
import sys

DOC = "docs/CLI.md"
FIRST = "\n### tunewire "

with open(DOC) as f:
    before, first, _ = f.read().partition(FIRST)
if not first:
    sys.exit(f"{DOC}: no verb")
verbs = subprocess.run([sys.argv[1], "__docs"], check=True, capture_output=True, text=True).stdout
with open(DOC, "w") as f:
    f.write(before + "\n" + verbs)
