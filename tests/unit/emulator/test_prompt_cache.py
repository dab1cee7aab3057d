"""The emulator's prompt cache."""

import pytest

from tests.emulator.prompt_cache import LEAST_TOKENS, PromptCache, Segment

MARK = {"cache_control": {"type": "ephemeral"}}


class Cache:
    """A cache of one account, with a clock."""

    def __init__(self):
        self.now = 0.0
        self.cache = PromptCache(lambda: self.now)

    def use(self, *segments, owner="octocat"):
        """Return the numbers of tokens that the request reads from the cache and adds to it."""
        return self.cache.use(owner, segments)


def make_segment(text, tokens=LEAST_TOKENS, **mark):
    return Segment({"role": "user", "content": [{"type": "text", "text": text, **mark}]}, tokens)


@pytest.fixture
def cache():
    return Cache()


def test_a_marked_prefix_is_read_by_the_next_request(cache):
    assert cache.use(make_segment("a"), make_segment("b", **MARK)) == (0, 2048)
    assert cache.use(make_segment("a"), make_segment("b", **MARK), make_segment("c", 5, **MARK)) == (2048, 5)
    assert cache.use(
        make_segment("a"),
        make_segment("b"),
        make_segment("c", 5),
        make_segment("d", 6),
        make_segment("e", 7, **MARK),
    ) == (2053, 13)


def test_a_changed_prefix_is_not_read(cache):
    cache.use(make_segment("a"), make_segment("b", **MARK))
    assert cache.use(make_segment("A"), make_segment("b", **MARK)) == (0, 2048)
    assert cache.use(make_segment("a"), make_segment("b", **MARK), owner="hubot") == (0, 2048)


def test_a_request_without_marks_neither_reads_nor_writes(cache):
    cache.use(make_segment("a", **MARK))
    assert cache.use(make_segment("a"), make_segment("b")) == (0, 0)


def test_a_mark_finds_only_prefixes_that_end_at_most_20_segments_before_it(cache):
    cache.use(make_segment("a", **MARK))
    between = [make_segment(str(number), 1) for number in range(21)]
    assert cache.use(make_segment("a"), *between[:19], make_segment("z", 1, **MARK))[0] == LEAST_TOKENS
    assert cache.use(make_segment("a"), *between, make_segment("z", 1, **MARK))[0] == 0


def test_a_short_prefix_is_not_stored(cache):
    assert cache.use(make_segment("a", LEAST_TOKENS - 1, **MARK)) == (0, 0)


def test_a_prefix_expires_five_minutes_after_its_last_use(cache):
    cache.use(make_segment("a", **MARK))
    cache.now = 200
    assert cache.use(make_segment("a", **MARK))[0] == LEAST_TOKENS
    cache.now = 500
    assert cache.use(make_segment("a", **MARK))[0] == LEAST_TOKENS
    cache.now = 801
    assert cache.use(make_segment("a", **MARK))[0] == 0
