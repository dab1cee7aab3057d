"""The emulator's own defects fail the test that met them."""

import httpx2
import pytest

from tests.emulator import CopilotEmulator


async def test_a_defect_of_the_emulator_fails_the_test_that_met_it():
    def defect(call):
        raise ZeroDivisionError

    emulator = await CopilotEmulator().__aenter__()
    emulator.script("/_ping", defect)
    async with httpx2.AsyncClient(trust_env=False) as http:
        assert (await http.get(f"{emulator.copilot_url}/_ping")).status_code == 500
    with pytest.raises(ExceptionGroup) as raised:
        await emulator.__aexit__()
    assert isinstance(raised.value.exceptions[0], ZeroDivisionError)
