"""The contract of stores (tests/content/store_contract.h), kept by S3Store with real stores. The
same checks are unit tests of the other stores."""

import os
import subprocess

import pytest

from support.environment import BUILD
from support.s3 import KEY_ID, SECRET, STORES


@pytest.mark.parametrize("kind", STORES)
def test_contract(kind):
    with kind() as store:
        done = subprocess.run(
            [BUILD / "unit_tests", "--gtest_filter=*S3StoreContract*"],
            capture_output=True, text=True,
            env={**os.environ, "H2SERVER_TEST_S3_ENDPOINT": store.url,
                 "AWS_ACCESS_KEY_ID": KEY_ID, "AWS_SECRET_ACCESS_KEY": SECRET})
    assert done.returncode == 0, done.stdout + done.stderr
    assert "PASSED" in done.stdout and "SKIPPED" not in done.stdout
