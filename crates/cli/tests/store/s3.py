"""Has boto3 ask a gateway for what its users ask for: `s3.py PART ENDPOINT`, with keys in the environment."""

import hashlib
import io
import os
import random
import sys
import threading
import urllib.error
import urllib.request

import boto3
from boto3.s3.transfer import TransferConfig
from botocore.client import Config
from botocore.exceptions import ClientError

part, endpoint = sys.argv[1:]
MIB = 1 << 20
LARGE = random.Random(7).randbytes(20 * MIB + 12345)


def client(**more):
    config = Config(signature_version="s3v4", retries={"max_attempts": 2}, read_timeout=120)
    return boto3.client("s3", endpoint_url=endpoint, region_name="us-east-1", config=config, **more)


def refused(code, call, **words):
    try:
        call(**words)
    except ClientError as error:
        found = error.response["Error"]["Code"]
        assert found == code, f"{found}, not {code}"
        return
    raise AssertionError(f"{code} was expected")


def get(s3, key, **words):
    return s3.get_object(Bucket="bucket", Key=key, **words)["Body"].read()


def buckets(s3):
    s3.create_bucket(Bucket="bucket")
    s3.create_bucket(Bucket="bucket")
    refused("InvalidBucketName", s3.create_bucket, Bucket="bucket..x")
    s3.create_bucket(Bucket="another")
    s3.head_bucket(Bucket="bucket")
    refused("404", s3.head_bucket, Bucket="nothing")
    assert s3.get_bucket_location(Bucket="bucket")["LocationConstraint"] is None
    assert [it["Name"] for it in s3.list_buckets()["Buckets"]] == ["another", "bucket"]
    s3.delete_bucket(Bucket="another")
    refused("NoSuchBucket", s3.list_objects_v2, Bucket="another")
    refused("NotImplemented", s3.get_bucket_policy, Bucket="bucket")


def objects(s3):
    body = b"some words"
    put = s3.put_object(
        Bucket="bucket", Key="a b/ä+&", Body=body, ContentType="text/plain", CacheControl="no-cache",
        Metadata={"colour": "blue"},
    )
    assert put["ETag"] == f'"{hashlib.md5(body).hexdigest()}"'
    head = s3.head_object(Bucket="bucket", Key="a b/ä+&")
    assert (head["ContentLength"], head["ContentType"], head["Metadata"]) == (10, "text/plain", {"colour": "blue"})
    assert (head["CacheControl"], head["ETag"]) == ("no-cache", put["ETag"])
    assert get(s3, "a b/ä+&") == body
    assert get(s3, "a b/ä+&", Range="bytes=5-") == b"words"
    assert get(s3, "a b/ä+&", Range="bytes=-3") == b"rds"
    refused("InvalidRange", s3.get_object, Bucket="bucket", Key="a b/ä+&", Range="bytes=99-")
    refused("304", s3.get_object, Bucket="bucket", Key="a b/ä+&", IfNoneMatch=put["ETag"])
    try:
        s3.get_object(Bucket="bucket", Key="a b/ä+&", IfNoneMatch=put["ETag"])
    except ClientError as error:
        assert error.response["ResponseMetadata"]["HTTPHeaders"]["etag"] == put["ETag"]
    refused("PreconditionFailed", s3.get_object, Bucket="bucket", Key="a b/ä+&", IfMatch='"x"')
    refused("304", s3.get_object, Bucket="bucket", Key="a b/ä+&", IfModifiedSince=head["LastModified"])
    refused("NoSuchKey", s3.get_object, Bucket="bucket", Key="nothing")
    refused("404", s3.head_object, Bucket="bucket", Key="nothing")
    s3.put_object(Bucket="bucket", Key="empty", Body=b"")
    assert get(s3, "empty") == b""
    for algorithm in ["CRC32", "SHA1", "SHA256"]:
        told = s3.put_object(Bucket="bucket", Key="summed", Body=body, ChecksumAlgorithm=algorithm)
        found = s3.get_object(Bucket="bucket", Key="summed", ChecksumMode="ENABLED")
        name = f"Checksum{algorithm}"
        assert found[name] == told[name] and found["Body"].read() == body, algorithm
    refused("BadDigest", s3.put_object, Bucket="bucket", Key="bad", Body=body, ChecksumCRC32="AAAAAA==")
    refused("BadDigest", s3.put_object, Bucket="bucket", Key="bad", Body=body, ContentMD5="A" * 22 + "==")
    refused("404", s3.head_object, Bucket="bucket", Key="bad")
    refused("NotImplemented", s3.put_object, Bucket="bucket", Key="bad", Body=body, ACL="public-read")
    source = {"Bucket": "bucket", "Key": "a b/ä+&"}
    s3.copy_object(Bucket="bucket", Key="copy", CopySource=source)
    assert s3.head_object(Bucket="bucket", Key="copy")["Metadata"] == {"colour": "blue"}
    s3.copy_object(Bucket="bucket", Key="copy", CopySource=source, MetadataDirective="REPLACE", Metadata={"x": "y"})
    assert s3.head_object(Bucket="bucket", Key="copy")["Metadata"] == {"x": "y"}
    assert get(s3, "copy") == body


def listings(s3):
    keys = [f"list/{folder}/{number:02}" for folder in "abc" for number in range(7)] + ["list/z", "list/\u2028"]
    for key in keys:
        s3.put_object(Bucket="bucket", Key=key, Body=b"x")
    for name in ["list_objects", "list_objects_v2"]:
        pages = s3.get_paginator(name).paginate(Bucket="bucket", Prefix="list/", PaginationConfig={"PageSize": 4})
        found = [row["Key"] for page in pages for row in page.get("Contents", [])]
        assert found == sorted(keys, key=str.encode), (name, found)
        pages = s3.get_paginator(name).paginate(
            Bucket="bucket", Prefix="list/", Delimiter="/", PaginationConfig={"PageSize": 2}
        )
        pages = list(pages)
        found = [row["Key"] for page in pages for row in page.get("Contents", [])]
        folders = [row["Prefix"] for page in pages for row in page.get("CommonPrefixes", [])]
        assert (found, folders) == (["list/z", "list/\u2028"], ["list/a/", "list/b/", "list/c/"]), (name, pages)
    after = s3.list_objects_v2(Bucket="bucket", Prefix="list/", StartAfter="list/c/05", FetchOwner=True)
    assert [row["Key"] for row in after["Contents"]] == ["list/c/06", "list/z", "list/\u2028"]
    refused("BucketNotEmpty", s3.delete_bucket, Bucket="bucket")
    gone = s3.delete_objects(Bucket="bucket", Delete={"Objects": [{"Key": key} for key in keys + ["nothing"]]})
    assert len(gone["Deleted"]) == len(keys) + 1 and "Errors" not in gone
    assert s3.list_objects_v2(Bucket="bucket", Prefix="list/")["KeyCount"] == 0


def odd_keys(s3):
    """Keys with characters that XML cannot write: boto3 asks for escapes by itself."""
    keys = ["odd/\x01\x1f", "odd/\r\n\t", "odd/\x7f\u0085", "odd/\ufffe\uffff"]
    for key in keys:
        s3.put_object(Bucket="bucket", Key=key, Body=b"x")
    for name in ["list_objects", "list_objects_v2", "list_object_versions"]:
        rows = "Versions" if name == "list_object_versions" else "Contents"
        found = []
        for page in s3.get_paginator(name).paginate(Bucket="bucket", Prefix="odd/", PaginationConfig={"PageSize": 1}):
            found += [row["Key"] for row in page.get(rows, [])]
        assert found == sorted(keys, key=str.encode), (name, found)
    for key in keys:
        s3.delete_object(Bucket="bucket", Key=key)


def uploads(s3):
    config = TransferConfig(multipart_threshold=8 * MIB, multipart_chunksize=6 * MIB, max_concurrency=4)
    s3.upload_fileobj(io.BytesIO(LARGE), "bucket", "large", Config=config, ExtraArgs={"Metadata": {"n": "1"}})
    head = s3.head_object(Bucket="bucket", Key="large")
    assert (head["ContentLength"], head["Metadata"]) == (len(LARGE), {"n": "1"}) and head["ETag"].endswith('-4"')
    read = io.BytesIO()
    s3.download_fileobj("bucket", "large", read, Config=config)
    assert read.getvalue() == LARGE
    for first, last in [(0, 0), (6 * MIB - 1, 6 * MIB), (8 * MIB - 5, 17 * MIB), (len(LARGE) - 1, len(LARGE) + 9)]:
        assert get(s3, "large", Range=f"bytes={first}-{last}") == LARGE[first : last + 1], (first, last)
    s3.copy({"Bucket": "bucket", "Key": "large"}, "bucket", "copied", Config=config)
    assert get(s3, "copied") == LARGE
    s3.put_object(Bucket="bucket", Key="whole", Body=LARGE)
    assert s3.head_object(Bucket="bucket", Key="whole")["ETag"] == f'"{hashlib.md5(LARGE).hexdigest()}"'
    assert get(s3, "whole") == LARGE
    begun = s3.create_multipart_upload(Bucket="bucket", Key="open")
    words = {"Bucket": "bucket", "Key": "open", "UploadId": begun["UploadId"]}
    one = s3.upload_part(PartNumber=1, Body=b"too small", **words)
    two = s3.upload_part(PartNumber=2, Body=b"x", **words)
    assert [it["PartNumber"] for it in s3.list_parts(**words)["Parts"]] == [1, 2]
    assert [it["UploadId"] for it in s3.list_multipart_uploads(Bucket="bucket")["Uploads"]] == [begun["UploadId"]]
    parts = [{"PartNumber": 1, "ETag": one["ETag"]}, {"PartNumber": 2, "ETag": two["ETag"]}]
    refused("EntityTooSmall", s3.complete_multipart_upload, MultipartUpload={"Parts": parts}, **words)
    refused("InvalidPartOrder", s3.complete_multipart_upload, MultipartUpload={"Parts": parts[::-1]}, **words)
    wrong = [{"PartNumber": 1, "ETag": '"x"'}]
    refused("InvalidPart", s3.complete_multipart_upload, MultipartUpload={"Parts": wrong}, **words)
    s3.abort_multipart_upload(**words)
    refused("NoSuchUpload", s3.upload_part, PartNumber=1, Body=b"x", **words)


def strangers(s3):
    bad = client(aws_secret_access_key="wrong", aws_access_key_id=os.environ["AWS_ACCESS_KEY_ID"])
    refused("SignatureDoesNotMatch", bad.list_buckets)
    unknown = client(aws_secret_access_key="wrong", aws_access_key_id="unknown")
    refused("InvalidAccessKeyId", unknown.list_buckets)
    url = s3.generate_presigned_url("get_object", {"Bucket": "bucket", "Key": "copy"}, ExpiresIn=60)
    assert urllib.request.urlopen(url).read() == b"some words"
    for changed in [url.replace("copy", "large"), url[:-1] + ("0" if url[-1] != "0" else "1"), url.split("?")[0]]:
        try:
            urllib.request.urlopen(changed)
            raise AssertionError(changed)
        except urllib.error.HTTPError as error:
            assert error.code == 403, error
    form = {"Content-Type": "multipart/form-data; boundary=x"}
    for method, headers, want in [("OPTIONS", {"Origin": "http://x"}, 501), ("POST", form, 501), ("POST", {}, 403)]:
        try:
            urllib.request.urlopen(urllib.request.Request(f"{endpoint}/bucket", b"x", headers, method=method))
            raise AssertionError(method)
        except urllib.error.HTTPError as error:
            assert error.code == want, (method, error)
    url = s3.generate_presigned_url("put_object", {"Bucket": "bucket", "Key": "put"}, ExpiresIn=60)
    urllib.request.urlopen(urllib.request.Request(url, data=b"by url", method="PUT")).read()
    assert get(s3, "put") == b"by url"


def at_once(s3):
    """Writers of one key leave what one of them wrote, and readers see nothing else."""
    bodies = [bytes([number]) * (12 * MIB) for number in range(2)]
    s3.put_object(Bucket="bucket", Key="contended", Body=bodies[0])
    threads = [
        threading.Thread(target=lambda body=body: client().put_object(Bucket="bucket", Key="contended", Body=body))
        for body in bodies
    ]
    [thread.start() for thread in threads]
    for _ in range(3):
        assert get(s3, "contended") in bodies
    [thread.join() for thread in threads]
    assert get(s3, "contended") in bodies


def everything():
    s3 = client()
    for work in [buckets, objects, listings, odd_keys, uploads, strangers, at_once]:
        work(s3)


def again():
    """After a restart everything is there; then all of it is removed."""
    s3 = client()
    assert get(s3, "large") == LARGE and get(s3, "copy") == b"some words"
    assert s3.head_object(Bucket="bucket", Key="large")["Metadata"] == {"n": "1"}
    rows = s3.list_objects_v2(Bucket="bucket")["Contents"]
    keys = ["a b/ä+&", "contended", "copied", "copy", "empty", "large", "put", "summed", "whole"]
    assert [row["Key"] for row in rows] == keys, rows
    assert {row["Key"]: row["Size"] for row in rows}["large"] == len(LARGE)
    s3.delete_objects(Bucket="bucket", Delete={"Objects": [{"Key": key} for key in keys], "Quiet": True})
    s3.delete_bucket(Bucket="bucket")
    assert s3.list_buckets()["Buckets"] == []


def alive():
    assert client().list_buckets()["Buckets"] == []


{"all": everything, "again": again, "alive": alive}[part]()
print("done")
