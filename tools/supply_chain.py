"""What rarefy stands on, and whether its wheel can be built again.

python tools/supply_chain.py licences       dependencies, also those of extras, with version and licence
python tools/supply_chain.py sbom FILE      the same as a bill of materials (CycloneDX 1.5, JSON)
python tools/supply_chain.py wheel          builds the wheel twice and compares the two, byte by byte
python tools/supply_chain.py audit          known vulnerabilities of what is installed, by pip-audit

The exit code is 1 if a licence is unknown or forbids our use, if two wheels differ or a vulnerability is known, and 3
if the database of vulnerabilities cannot be reached, or does not know what people install with rarefy.
"""

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("cli",)
"""Those that people install to use the library; the others are for development."""
PERMISSIVE = re.compile(r"BSD|MIT|Apache|PSF|Python Software Foundation|ISC|Zlib|HPND|Unlicense|MPL|0BSD|CC0", re.I)
COPYLEFT = re.compile(r"(?<![A-Z])A?GPL|Affero", re.I)
UNREACHABLE = re.compile(
    r"ConnectionError|Max retries|Name or service|resolve|HTTPSConnectionPool|403|ServiceError", re.I
)


def licence(found):
    """The licence of a distribution, in the words of its metadata."""
    stated = found.metadata.get("License-Expression") or ""
    classifiers = [line for line in found.metadata.get_all("Classifier") or () if line.startswith("License ::")]
    named = ", ".join(line.rpartition(" :: ")[2] for line in classifiers if line.count(" :: ") > 1)
    files = [file for file in found.files or () if file.name.upper().startswith(("LICENSE", "LICENCE", "COPYING"))]
    texts = [found.metadata.get("License") or "", *(file.read_text() or "" for file in files[:1])]
    first = [text.strip().splitlines()[0] for text in texts if text.strip()]
    return stated or named or (first[0] if first else "unknown")


def dependencies(name="rarefy", extras=EXTRAS):
    """Distributions that one needs, and what these need, as they are installed here."""
    found, left = {}, [(name, frozenset(extras))]
    while left:
        one, wanted = left.pop()
        try:
            distribution = metadata.distribution(one)
        except metadata.PackageNotFoundError:  # of another system or version of Python
            continue
        key = re.sub(r"[-_.]+", "-", one).lower()
        if key in found:
            continue
        found[key] = distribution
        for line in distribution.requires or ():
            requirement, _, marker = line.partition(";")
            extra = re.search(r"extra\s*==\s*['\"](\w[\w-]*)['\"]", marker)
            if extra is None or extra[1] in wanted:
                needed, _, inner = re.match(r"([\w.-]+)\s*(\[([\w, -]*)\])?", requirement.strip()).groups()
                left.append((needed, frozenset(re.split(r"[,\s]+", inner or ""))))
    found.pop(re.sub(r"[-_.]+", "-", name).lower(), None)
    return dict(sorted(found.items()))


def refused(found):
    """Names of dependencies whose licence is unknown or would bind those who use rarefy."""
    stated = {name: licence(one) for name, one in found.items()}
    return [name for name, words in stated.items() if COPYLEFT.search(words) or not PERMISSIVE.search(words)]


def bill(found, version):
    """A bill of materials."""
    components = [
        {
            "type": "library",
            "name": one.metadata["Name"],
            "version": one.version,
            "purl": f"pkg:pypi/{name}@{one.version}",
            "licenses": [{"license": {"name": licence(one)}}],
        }
        for name, one in found.items()
    ]
    subject = {"type": "library", "name": "rarefy", "version": version, "purl": f"pkg:pypi/rarefy@{version}"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": subject | {"licenses": [{"license": {"id": "BSD-3-Clause"}}]}},
        "components": components,
    }


def wheels_differ():
    """Build twice, with other clocks, masks and folders; the digests if they differ."""
    digests = []
    for zone, mask in (("UTC", 0o022), ("Pacific/Auckland", 0o077)):
        with tempfile.TemporaryDirectory() as folder:
            before = os.umask(mask)
            try:
                call = [sys.executable, "-m", "build", "--wheel", "--outdir", folder, str(ROOT)]
                subprocess.run(call, check=True, capture_output=True, env=os.environ | {"TZ": zone})
            finally:
                os.umask(before)
            (wheel,) = Path(folder).glob("*.whl")
            digests.append(hashlib.sha256(wheel.read_bytes()).hexdigest())
    print("\n".join(digests))
    return digests[0] != digests[1]


def audit():
    """The exit code of an audit of what is installed."""
    call = [sys.executable, "-m", "pip_audit", "--skip-editable", "--progress-spinner", "off", "--format", "json"]
    ended = subprocess.run(call, capture_output=True, text=True, check=False)
    said = ended.stderr.strip()
    try:
        looked_at = json.loads(ended.stdout)["dependencies"]
    except (ValueError, KeyError):
        return not_audited(said)
    known = [(one, fault) for one in looked_at for fault in one.get("vulns", ())]
    for one, fault in known:
        mended = ", ".join(fault["fix_versions"]) or "no version"
        print(f"{one['name']} {one['version']}: {fault['id']}, mended in {mended}")
    # Who mirrors packages without the database answers that it knows none of them, which pip-audit counts as success.
    skipped = {one["name"] for one in looked_at if "skip_reason" in one} & set(dependencies())
    if skipped:
        print(f"Not audited, because the database does not know them: {', '.join(sorted(skipped))}.")
    if known:
        return 1
    return 3 if skipped else ended.returncode


def not_audited(said):
    """The exit code, and why, where pip-audit has no answer."""
    if "No module named pip_audit" in said:
        print("Nothing was audited: pip-audit is not installed (pip install pip-audit).")
        return 3
    if UNREACHABLE.search(said):
        print(f"Nothing was audited: the database cannot be reached ({said.splitlines()[-1][:200]}).")
        return 3
    print(said)
    return 1


def main(arguments):
    what, *more = arguments or ["licences"]
    if what == "audit":
        return audit()
    if what == "wheel":
        return int(wheels_differ())
    found = dependencies()
    if what == "sbom":
        Path(more[0]).write_text(json.dumps(bill(found, metadata.version("rarefy")), indent=1) + "\n", encoding="utf-8")
        return 0
    for name, one in found.items():
        print(f"{name:20} {one.version:12} {licence(one)}")
    for name in refused(found):
        print(f"{name}: this licence is unknown here, or would bind those who use rarefy")
    return int(bool(refused(found)))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
