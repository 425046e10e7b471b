"""A plugin of pytest for ceph/s3-tests, with which peers/s3-tests.sh judges the gateway.

It replaces the clean-up of the suite, which needs three users and object locks, and notes the outcome of each test.
The list peers/s3-tests.txt has a line for each test:

    passes  NAME [WHAT]    WHAT is what was refused with 501 in it, if something was: then it may show little
    lacks   NAME  WHAT     it fails right after the gateway refused with 501, whose message is WHAT
    other   NAME  REASON   it fails, and somebody has written why that is no fault of the gateway
    skips   NAME           the suite skips it, as it does without a configuration that the gateway has no use for

A test whose outcome is another than its line says, that has no line, or whose line has no test is a difference.
Environment: S3_LIST, the list; S3_FOUND, a file for the list as this run would write it; S3_PLANTED=1 changes two
lines of the list, and each change must be found; S3_PART=1 is a run of a part of the tests, which leaves other lines alone.
"""

import os
import xml.etree.ElementTree

import botocore.httpsession
import pytest
import requests

UNJUDGED = "not judged yet"

last = {"status": None, "message": "", "refused": ""}
found, failures = {}, {}


def note(status, body):
    """Keeps what the last answer was."""
    last.update(status=status, message="")
    if status is None:
        last["refused"] = ""
    if status == 501:
        try:
            last["message"] = xml.etree.ElementTree.fromstring(body).findtext("Message") or ""
        except xml.etree.ElementTree.ParseError:
            # The answer to HEAD has no document.
            last["message"] = "an answer without a document"
        last["refused"] = last["message"]


def watch(owner, body):
    """Notes each answer that comes through `owner.send`."""
    send = owner.send

    def sent(self, *words, **more):
        answer = send(self, *words, **more)
        note(answer.status_code, body(answer) if answer.status_code == 501 else b"")
        return answer

    owner.send = sent


watch(botocore.httpsession.URLLib3Session, lambda answer: answer.content)
watch(requests.Session, lambda answer: answer.content)


def remove_buckets(suite):
    """Removes all buckets: some tests use names without the prefix of the suite, and the store is theirs alone."""
    client = suite.get_client()
    for bucket in [bucket["Name"] for bucket in client.list_buckets()["Buckets"]]:
        for page in client.get_paginator("list_multipart_uploads").paginate(Bucket=bucket):
            for upload in page.get("Uploads", []):
                client.abort_multipart_upload(Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])
        for page in client.get_paginator("list_objects_v2").paginate(Bucket=bucket):
            objects = [{"Key": lying["Key"]} for lying in page.get("Contents", [])]
            if objects:
                client.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
        client.delete_bucket(Bucket=bucket)


def pytest_configure(config):
    for line in config.rootpath.joinpath("pytest.ini").read_text().splitlines():
        config.addinivalue_line("markers", line.strip())
    import s3tests.functional as suite

    suite.setup = suite.teardown = lambda: remove_buckets(suite)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    note(None, b"")
    yield


def pytest_runtest_logreport(report):
    name = report.nodeid.split("/")[-1].removeprefix("test_s3.py::")
    if report.skipped:
        found[name] = ("skips", "")
    elif report.failed and report.when == "call" and last["status"] == 501:
        found[name] = ("lacks", last["message"])
    elif report.failed:
        found[name] = ("other", UNJUDGED)
        failures[name] = f"{report.when}: {report.longreprtext.strip().splitlines()[-1]}"
    elif report.when == "call":
        found[name] = ("passes", last["refused"])


def listed(path):
    rows = {}
    for line in open(path, encoding="utf-8"):
        if line.strip() and not line.startswith("#"):
            kind, name, *reason = line.rstrip("\n").split(None, 2)
            rows[name] = (kind, reason[0] if reason else "")
    return rows


def plant(rows):
    """Changes two lines: a test that passes into one that does not, and the other way round."""
    kinds = {name: rows.get(name, ("", ""))[0] for name in found}
    passing = next(name for name, kind in kinds.items() if kind == "passes")
    failing = next(name for name, kind in kinds.items() if kind in ("lacks", "other"))
    rows[passing], rows[failing] = ("other", "planted"), ("passes", "")
    return {passing, failing}


def differences(rows):
    for name in sorted(rows.keys() | found.keys()):
        was, now = rows.get(name), found.get(name)
        if was is None:
            yield name, f"is not in the list: {now}"
        elif now is None and os.environ.get("S3_PART"):
            continue
        elif now is None:
            yield name, "is in the list only"
        elif was[0] != now[0] or was[0] in ("lacks", "passes") and was[1] != now[1]:
            yield name, f"{' '.join(was).strip()} in the list, {' '.join(now).strip()} in this run"
        elif was == ("other", UNJUDGED) or was[0] == "other" and not was[1]:
            yield name, "is not judged"


def pytest_sessionfinish(session):
    rows = listed(os.environ["S3_LIST"])
    planted = plant(rows) if os.environ.get("S3_PLANTED") else set()
    with open(os.environ["S3_FOUND"], "w", encoding="utf-8") as to:
        for name, (kind, reason) in sorted(({**rows, **found} if os.environ.get("S3_PART") else found).items()):
            known = rows.get(name, ("", ""))
            words = [kind.ljust(7), name, known[1] if kind == known[0] == "other" else reason]
            print(" ".join(words).rstrip(), file=to)
    told = dict(differences(rows))
    for name, words in told.items():
        print(f"\n{name} {words} {failures.get(name, '')}", end="")
    counts = {kind: sum(row[0] == kind for row in found.values()) for kind in ("passes", "lacks", "other", "skips")}
    print("\n" + ", ".join(f"{kind} {count}" for kind, count in counts.items()), end="; ")
    print(f"{len(told)} differences from the list")
    if planted:
        print(f"{len(planted & told.keys())} of {len(planted)} planted differences are found")
        told = {} if planted == told.keys() else {"planted": ""}
    session.exitstatus = 1 if told else 0
