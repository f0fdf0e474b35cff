"""The memory of recent questions."""

from concurrent.futures import ThreadPoolExecutor

from memories.providers.cache import Recent


def test_the_oldest_go_first():
    recent = Recent()
    for key in "abc":
        recent.put(key, key.upper(), size=3)
    assert recent.get("a") == "A"  # asked for: now the newest
    recent.put("d", "D", size=3)
    assert [recent.get(key) for key in "abcd"] == ["A", None, "C", "D"]


def test_it_never_holds_more_than_its_size_whatever_threads_do():
    recent = Recent()

    def work(seed):
        for n in range(500):
            recent.put((seed * n) % 37, n, size=10)
            recent.get(n % 37)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(1, 9)))
    assert len(recent) == 10
    recent.clear()
    assert len(recent) == 0
