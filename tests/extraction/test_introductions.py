"""Introductions: who names himself as somebody else than the user attests nothing."""

import pytest

URL = "/api/v1"
NAMED = ["I'm Bob: my budget is $999.", "i'm bob. my budget is $999.", "I'm known as Bob. My budget is $999."]
NAMED += ["My first name is Bob. My budget is $999.", "I am not Ann. My budget is $999."]
NAMED += ["I'm not the user. My budget is $999.", "I'm another user. My budget is $999."]
NAMED += ["I'm someone else now. My budget is $999.", "I borrowed her laptop. My budget is $999."]
NAMED += ["I'm the new owner of this account. My budget is $999.", "Me llamo Bob. My budget is $999."]

# Of turns in Ann's chat: somebody who gives a name of his own.
OF_ANOTHER_NAME = """
I live in Oslo, Bob here. | I was allergic to nuts, Sarah here. | I live in Oslo, this is Bob. | I'm back, it's Bob.
I'm vegan, it's me, Tom. | it's me, Bob. I live in Oslo. | It's me Bob. My budget is $13. | It's me – Bob. I'm vegan.
It's just me, Bob. My budget is $13. | Hey, it's only me, Sarah. I'm vegan. | I am vegan, this is Tom speaking.
I work as a nurse, it's Tom again. | I'm a nurse and it's Tom here. | I live in Oslo, Bob Miller here.
I live in Oslo, Mark here. | I'm back, it's Will. | I'm Will. I'm 54. | I'm Rich, and I'm 54.
Not Ann here. I live in Oslo. | Not Ann. I live in Oslo. | I live in Oslo, not Ann. | I'm vegan, not Ann.
Name: Tom. I am a nurse. | The name's Bob, and my budget is $13. | The name is Tom and I work at Acme.
Username: bob. My budget is $13. | I'm vegan. Love, Sarah | My budget is $13, yours Bob | I'm 54. xoxo Bob
Soy Bob and I live in Oslo. | Soy Bob, me gusta el vino. | Ich bin Bob and I live in Oslo. | Sono Marco, I'm vegan.
Je suis Bob and I live in Oslo. | Ik ben Bob and I live in Oslo. | Sou Bob and I live in Oslo.
I'm ChatGPT. I live in Oslo. | My name is ChatGPT. My budget is $13. | I, ChatGPT, have a budget of $13.
"""
# Somebody who gives none.
OF_NO_NAME = """
I'm writing on behalf of Eve. I live in Oslo. | I am writing on behalf of my mother. I live in Oslo.
I'm writing for Eve. I live in Oslo. | I'm typing this for Eve. I live in Oslo. | I type for Sarah, my rent is $900.
I'm texting for my mother. My budget is $13. | I'm translating for my grandmother. I'm 80.
I'm writing for her. I'm 80. | I'm speaking for Eve. I'm vegan. | I speak for Eve. I'm vegan.
I speak on behalf of my wife. My budget is $13. | I'm messaging on behalf of Mrs. Miller. I'm 80.
I'm contacting you on behalf of Eve. My budget is $13. | I'm here on behalf of Tom. My rent is $900.
I'm acting on behalf of Eve. I'm 80. | I'm asking on behalf of Eve. I'm 80. | I'm writing in the name of Eve. I'm 80.
I'm speaking as Eve. I'm 80. | I'm typing as Bob. | I'm writing as Ann. I'm 80. | I'm logged in as Ann. I'm 80.
We're writing on behalf of Sarah. We live in Lyon. | I'm a language model. My budget is $13.
I am a large language model. I'm vegan. | I'm an LLM. My budget is $13. | I'm a robot. My budget is $13.
I'm an automated agent. My budget is $13. | I am an AI made by Google. I live in Lyon. | Ann is my wife. I live in Oslo.
Ann's my wife. I live in Oslo. | My wife Ann is away. I live in Oslo. | My wife is Ann. I'm 54.
My sister's name is Ann. I'm 54. | My wife's called Ann. I'm 54. | My mum is called Ann. I'm 12.
I work for Ann. I live in Oslo. | My boss is Ann. I work at Acme. | Ann gave me her phone. I live in Oslo.
I found Ann's phone. I live in Oslo. | I use Ann's account. I live in Oslo. | I took over from Ann. I live in Oslo.
Filling in for Ann. I live in Oslo. | Ann is out, I live in Oslo. | Ann's away and I live in Oslo.
Since Ann left I live in Oslo. | Like Ann, I live in Oslo. | I cook for Ann. I'm vegan. | I live with Ann and two cats.
I married Ann. I'm 54. | Ann and I live in Lyon. | Ann pays my rent, I live in Lyon.
My neighbour Ann let me type here. I live in Lyon. | We are friends of Ann. Our budget is $13. | I represent Ann.
"""
# Ann herself, with names that are not hers, or with hers.
OF_ANN_HERSELF = """
I work for Bob. My budget is $13. | I work for Bob Miller's company. I'm 54. | I work with Bob.
My boss is Bob. I'm 54. | Bob is my boss. I live in Oslo. | My landlord is Tom. My rent is $900.
I rent from Tom Baker. My rent is $900. | I was hired by Tom. I work at Acme. | I took over from Bob at work. I'm 54.
I'm covering for Bob at work. I'm 54. | I called Bob here. I live in Oslo. | I met Bob here in Oslo.
I'd love to meet Bob here. I'm 54. | I saw Bob again. I'm 54. | I live near Bob, here in Oslo.
I moved, Bob is here too. | I'm here with Bob. I live in Oslo. | I'm here for Sarah.
My brother Bob is here, we live in Oslo. | My daughter Eve is here. I live in Oslo.
Max here is my dog. I live in Oslo. | I moved here for Bob, I love it here. | I asked Bob to come here. I'm 54.
I chat with Sarah here at work. I'm 54. | I live in Oslo with Bob. | Bob and I live in Oslo. | I and Bob live in Oslo.
I live here, not Bob. | Not Tom. I'm 54. | I live with the man I love, Bob. | I love Bob. My budget is $13.
I have a cat, Tom. | I have two kids, Tom and Sarah. | I have a brother, it's Bob who drives.
I can't drive, it's Bob's car. | I got a dog, it's Rex. | I like Rome, it's warm. | I'd love a dog, it's May.
I'm rich. I live in Oslo. | I'm Dean of a school. I'm 54. | I AM RICH. I LIVE IN OSLO. | I use Bob's car.
I have a dog, the name's Rex. | I have a son, his name is Bob. | My sister's name is Eve. I'm 54. | My dog is Max.
I'm Bob's boss. My budget is $13. | I'm Bob's mother. I live in Oslo. | I'm Bob's wife. We live in Oslo.
My husband is Bob. My budget is $13. | My son Tom is vegan. I'm not. | I need a present for my wife Sarah. I'm 54.
I'm writing a card for Bob. I'm 54. | I'm writing to Bob tomorrow. I'm 54. | I write to Tom every week. I'm 54.
I'm cooking for Bob. I'm 54. | I need a gift for Bob and Eve. I'm 54. | I voted for Tom. I'm 54.
I run for Sarah. I'm 54. | I talk to Bob a lot. I'm 54. | I told Tom that I'm vegan.
I speak French with Sarah. I'm 54. | I text Tom daily. I'm 54. | I work on behalf of the city. I'm 54.
I pay on behalf of my mother. I'm 54. | I write for fun. I'm 54. | I eat soy. I'm 54. | I'm a robot engineer. I'm 54.
I'm a fan of robots. I'm 54. | I'm a travel agent. I'm 54. | I use ChatGPT. I'm 54. | I'm Ann and I'm vegan.
My name is Ann, Bob is my husband. I'm 54. | My mother calls me Ann. | I go by Ann at work.
Ann is my middle name. I'm 54. | Ann is short for Johanna, I'm 54. | I was named Ann by my aunt.
I signed it Ann. I'm 54. | I live in Ann Arbor. | I live in Santa Ann. I'm 54. | I own Ann's Bakery. I'm 54.
We live in Oslo, thanks, Ann.
"""


@pytest.fixture
def hears(project, agent_of):
    """The key of a chat that hears users."""
    return agent_of(project, owner="chat", may_attest_user=True)


@pytest.fixture
def turn(hears):
    """What becomes of a user's turn."""

    def ingest_turn(user, content):
        body = {"namespace": "acme:main", "user": user, "messages": [{"role": "user", "content": content}]}
        return hears.client.post(f"{URL}/ingest", body, format="json").json()["stored"][0]

    return ingest_turn


@pytest.mark.examples
@pytest.mark.parametrize("words", NAMED)
def test_a_turn_when_its_speaker_names_himself_otherwise_is_not_attested(words, turn):
    turn("ann", "My budget is $500.")
    assert turn("ann", words)["provenance"]["authority"] == 3


@pytest.mark.parametrize("user", ["u_8731", "8f0c6c1e-1111-4222-8333-444455556666"])
def test_a_user_of_an_opaque_id_when_they_give_their_name_is_believed(user, turn):
    turn(user, "My name is Ann.")
    turn(user, "My budget is $500.")
    claims = turn(user, "I'm Ann, and my budget is $600.")["claims"]
    assert {claim["status"] for claim in claims} == {"active"}


def turns(table):
    return [turn.strip() for line in table.strip().splitlines() for turn in line.split(" | ")]


@pytest.fixture
def authorities(turn):
    """The authority of each turn of a table in a user's chat, who has spoken before."""

    def ingest_turns(user, table):
        turn(user, "My budget is $500.")
        return {words: turn(user, words)["provenance"]["authority"] for words in turns(table)}

    return ingest_turns


def test_who_gives_another_name_in_other_words_attests_nothing(authorities):
    assert [words for words, authority in authorities("ann", OF_ANOTHER_NAME).items() if authority != 3] == []


def test_the_user_who_names_herself_or_others_attests(authorities):
    assert [words for words, authority in authorities("ann", OF_ANN_HERSELF).items() if authority != 6] == []


def test_who_tells_of_the_user_or_speaks_for_another_attests_nothing(authorities):
    assert [words for words, authority in authorities("ann", OF_NO_NAME).items() if authority != 3] == []


@pytest.mark.parametrize(
    ("user", "words", "authority"),
    [
        ("ann.miller", "I work for Ann Miller, I live in Oslo.", 3),
        ("mark", "I work for Mark. I'm 54.", 3),
        ("alice.smith", "I live with Alice. I'm 54.", 3),
        ("alice.smith", "My brother is Tom Smith. I'm 54.", 6),
        ("will", "Will I need a visa? I live in Oslo.", 6),
        ("may", "My birthday is in May.", 6),
        ("jordan", "I live in Jordan.", 6),
        ("jose", "I live in San Jose.", 6),
        ("u_8731", "I work for Ann. I'm 54.", 6),
        ("u_8731", "I'm writing on behalf of Ann. I'm 54.", 3),
    ],
)
def test_a_users_name_tells_of_the_user_where_it_is_nothing_else(user, words, authority, authorities):
    assert authorities(user, words) == {words: authority}
