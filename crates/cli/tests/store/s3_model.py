"""Sends every operation and every parameter of botocore's service model to a gateway: `s3_model.py TABLE ENDPOINT`,
with keys in the environment.

The table is crates/gateway/src/allowed/model.tsv. Its verdict says whether botocore must get 501 with an error that
names what is lacking, or any other answer. What is refused must not have changed a bucket or an object.
"""

import datetime
import sys

import boto3
from botocore.client import Config
from botocore.exceptions import BotoCoreError, ClientError

table, endpoint = sys.argv[1:]
CONFIG = Config(
    signature_version="s3v4",
    retries={"max_attempts": 1},
    parameter_validation=False,
    inject_host_prefix=False,
    s3={"addressing_style": "path"},
)
S3 = boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", config=CONFIG)
MODEL = S3.meta.service_model
BUCKET = "walked"


def rows():
    for line in open(table, encoding="utf-8"):
        if not line.startswith("#"):
            yield line.rstrip("\n").split("\t")


def some(shape, depth=0):
    """A value of a shape, with all members that it needs."""
    kind = shape.type_name
    if kind == "structure":
        return {name: some(shape.members[name], depth + 1) for name in shape.required_members}
    if kind == "list":
        return [some(shape.member, depth + 1)]
    if kind == "map":
        return {"k": "v"}
    if kind == "string":
        return (getattr(shape, "enum", None) or ["x"])[0]
    now = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    return {"blob": b"x", "boolean": True, "integer": 1, "long": 1, "timestamp": now}.get(kind, 1)


def stock():
    """A bucket with two objects and an upload; what a request that should change something may change."""
    for bucket in [BUCKET, "walked-empty"]:
        try:
            S3.create_bucket(Bucket=bucket)
        except S3.exceptions.BucketAlreadyOwnedByYou:
            pass
    for key in ["a", "b"]:
        S3.put_object(Bucket=BUCKET, Key=key, Body=key.encode() * 3, Metadata={"m": "1"})
    return stock_upload()


def stock_upload():
    return S3.create_multipart_upload(Bucket=BUCKET, Key="up")["UploadId"]


def state():
    """All buckets, and all objects with their tags."""
    names = [it["Name"] for it in S3.list_buckets()["Buckets"]]
    rows = {name: S3.list_objects_v2(Bucket=name).get("Contents", []) for name in names}
    return {name: [(row["Key"], row["ETag"], row["LastModified"]) for row in found] for name, found in rows.items()}


def base(operation, upload):
    """The least parameters of an operation."""
    shape = MODEL.operation_model(operation).input_shape
    words = some(shape) if shape else {}
    given = {"Bucket": BUCKET, "Key": "a", "UploadId": upload, "CopySource": f"{BUCKET}/b", "PartNumber": 1}
    words.update({name: value for name, value in given.items() if name in words})
    if "UploadId" in words:
        words["Key"] = "up"
    # A length needs its bytes: without them the gateway waits.
    if shape and "ContentLength" in shape.members:
        words["Body"] = b"x"
    if operation == "CreateBucket":
        words["Bucket"] = "walked-new"
    if operation == "DeleteBucket":
        words["Bucket"] = "walked-empty"
    return words


def answer(operation, words):
    """The status, and the message of an error."""
    try:
        return S3._make_api_call(operation, words)["ResponseMetadata"]["HTTPStatusCode"], ""
    except ClientError as error:
        found = error.response
        return found["ResponseMetadata"]["HTTPStatusCode"], found["Error"].get("Message", "")


def put(words, operation, member, value):
    """Adds a parameter, which may lie in a structure."""
    shape = MODEL.operation_model(operation).input_shape
    names = list(shape.members)
    if member in names:
        return {**words, member: value if value is not None else some(shape.members[member])}
    # A path of elements: the structure has the name of its root, or is the one with that root.
    root, *path = member.split("/")
    top = next(it for it in names if shape.members[it].serialization.get("name", it) == root)
    at, words = shape.members[top], {**words, top: some(shape.members[top])}
    here = words[top]
    while path:
        word = path.pop(0)
        name = next(it for it in at.members if at.members[it].serialization.get("name", it) == word)
        at = at.members[name]
        if at.type_name == "list":
            if not at.serialization.get("flattened"):
                path.pop(0)
            at = at.member
            here = here.setdefault(name, [some(at)])[0]
        elif at.type_name == "structure":
            here = here.setdefault(name, some(at))
        else:
            here[name] = value if value is not None else some(at)
    return words


def values(kind, verdict):
    """The values to try; None for whatever the shape gives."""
    if not verdict.startswith("only "):
        return [None]
    wanted = verdict[5:].split(" ")
    return wanted + [it for it in kind.rstrip("!").split("|") if "|" in kind and it not in wanted]


def judged(row, value, upload):
    """Sends one request; whether it should be honoured, and what is wrong with the answer."""
    operation, member, _, name, _, verdict = row
    words = base(operation, upload)
    if member != "-":
        words = put(words, operation, member, value == "true" if value in ("true", "false") else value)
    wants = operation not in REFUSED and (verdict == "yes" or value in verdict[5:].split(" "))
    status, message = answer(operation, words)
    what = f"{operation} {member} = {value}: {status} {message}"
    if operation in ELSEWHERE:
        return False, None if status == 400 and "scope" in message else what
    if (status != 501) != wants:
        return wants, f"{what}, but the table says `{verdict}`"
    parts = name.lower().split("/")
    is_named = any(word in message.lower() for word in [*(parts[1:] or parts), str(value).lower()])
    has_document = MODEL.operation_model(operation).http["method"] != "HEAD"
    if not wants and operation not in REFUSED and has_document and not is_named:
        return wants, f"{what}, which does not name it"
    return wants, None


def walk():
    faults, counts = [], {"honoured": 0, "refused": 0, "not sent": 0}
    upload = stock()
    before, last = state(), None
    for row in ROWS:
        operation, member, kind = row[0], row[1], row[4]
        # What is refused has changed nothing; one look an operation is enough to find one that does.
        if operation != last and (after := state()) != before:
            faults.append(f"{last}: a request that is refused has changed something")
            before = after
        last = operation
        if kind.startswith("structure"):
            continue
        for value in values(kind, row[5]):
            try:
                is_honoured, fault = judged(row, value, upload)
            except BotoCoreError:
                counts["not sent"] += 1
                continue
            counts["honoured" if is_honoured else "refused"] += 1
            faults += [fault] if fault else []
            if is_honoured and MODEL.operation_model(operation).http["method"] not in ("GET", "HEAD"):
                if state() != before:
                    upload = stock()
                    before = state()
                elif "Upload" in operation or operation.endswith("Parts"):
                    upload = stock_upload()
    return faults, counts


ROWS = list(rows())
REFUSED = {row[0] for row in ROWS if row[1] == "-" and row[5] == "no"}
# Botocore signs these for other services of S3.
ELSEWHERE = {"ListDirectoryBuckets", "WriteGetObjectResponse"}
faults, counts = walk()
print("\n".join(faults) or "done: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
sys.exit(1 if faults else 0)
