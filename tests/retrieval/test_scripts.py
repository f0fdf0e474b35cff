"""Words are found in every script: between letters that no space parts, in other digits, in other widths."""

import pytest

FOUND = [
    ("ポート8443を使います。", "8443"),
    ("注文番号はJP-8891です。", "JP-8891"),
    ("プロジェクト名はさくらです。", "さくら"),
    ("私は東京に住んでいます。", "東京"),
    ("服务器的版本是3.2.1。", "3.2.1"),
    ("我的预算是五百元。", "预算"),
    ("ฉันอยู่ที่กรุงเทพมหานคร", "กรุงเทพ"),
    ("Ticket １２３４５ was closed.", "12345"),
    ("رقم الطلب ١٢٣٤٥.", "12345"),
    ("The ﬁle conﬁg.yml is gone.", "config.yml"),
    ("Die Straße ist gesperrt.", "strasse"),
]


@pytest.fixture
def by_words(alice):
    """Search for words; the texts that they found, and whether the answer shows them."""

    def ask(query):
        body = {"namespace": "acme:main", "query": query, "explain": True}
        answer = alice.client.post("/api/v1/search", body, format="json").json()
        found = {one["id"] for one in answer["explanation"]["candidates"] if one["bm25"]}
        return found, [hit["content"] for hit in answer["results"]]

    return ask


@pytest.mark.parametrize(("text", "query"), FOUND)
def test_a_word_is_found_in_every_script(store_all, by_words, text, query):
    rows = store_all(
        "acme:main", [text, "The heron nests behind the mill.", "鳥が飛んでいます。", "Otters swim at night."]
    )
    found, shown = by_words(query)
    assert found == {str(rows[0].id)}
    assert shown[:1] == [text]


def test_what_shares_no_word_is_not_found_by_its_letters(store_all, by_words):
    store_all("acme:main", ["東の空が明るい。", "京都に行きたい。", "兄は北京。", "鈴木と佐藤さん。"])
    assert by_words("東京")[0] == set()
    assert by_words("佐々木")[0] == set()
