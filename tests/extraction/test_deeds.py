"""What people tell of themselves in talk is claimed in their words; what they did not say of themselves is not."""

import pytest

from memories.extraction import read_text
from memories.extraction.claims import extract

TOLD = [
    ("I joined a gym last week!", "has_done", "joined a gym last week"),
    ("Just yesterday I joined a nearby church.", "has_done", "joined a nearby church"),
    (
        "Last year, I helped repair a community centre back home.",
        "has_done",
        "helped repair a community centre back home",
    ),
    ("We went camping two weekends ago, and it rained.", "has_done", "went camping two weekends ago"),
    ("I had an interview for an internship yesterday.", "has_done", "had an interview for an internship yesterday"),
    ("It was fun when we saw the meteor shower.", "has_done", "saw the meteor shower"),
    ("Lost my job at the bank, so here I am.", "has_done", "Lost my job at the bank"),
    ("Just finished a pottery project!", "has_done", "finished a pottery project"),
    ("I used to go horseback riding with my dad.", "has_done", "used to go horseback riding with my dad"),
    ("I got promoted in March.", "has_done", "promoted in March"),
    ("I've just got a new job.", "has_done", "got a new job"),
    ("I've got involved in the campaign.", "has_done", "got involved in the campaign"),
    ("I've just bought a red bicycle for my commute.", "has_done", "bought a red bicycle for my commute"),
    ("I visited Reykjavik with my brother.", "visited", "Reykjavik"),
    ("I've been to Reykjavik twice.", "visited", "Reykjavik"),
    ("I graduated from the University of Leeds.", "studied_at", "the University of Leeds"),
    ("I've been volunteering at a homeless shelter.", "busy_with", "volunteering at a homeless shelter"),
    ("Been busy rehearsing for the spring concert.", "busy_with", "rehearsing for the spring concert"),
    ("Searching for a studio has been tricky.", "busy_with", "Searching for a studio"),
    ("I volunteer at the animal shelter on Sundays.", "busy_with", "volunteer at the animal shelter on Sundays"),
    ("I play the clarinet.", "plays", "the clarinet"),
    ("I'm working on my online store.", "works_on", "my online store"),
    ('I\'m reading "The Hollow Hills" at the moment.', "reads", "The Hollow Hills"),
    ("I'm studying marine biology.", "studies", "marine biology"),
    ("I'm planning to start a bakery next year.", "plans_to", "start a bakery next year"),
    ("I'm gonna paint the kitchen.", "plans_to", "paint the kitchen"),
    ("I've decided to adopt a greyhound.", "plans_to", "adopt a greyhound"),
    ("I want to help people with their taxes.", "wants", "help people with their taxes"),
    ("My dream is to open a small bookshop.", "goal", "open a small bookshop"),
    ("My dream is to have a safe and loving home.", "goal", "have a safe and loving home"),
    ("I'm passionate about creating a safe, inviting place.", "likes", "creating a safe, inviting place"),
    ("I've always had a love for horses!", "likes", "horses"),
    ("Drawing flowers is one of my faves.", "likes", "Drawing flowers"),
    ("Painting landscapes is my favorite!", "likes", "Painting landscapes"),
    ("I've been into dancing since I was a kid.", "likes", "dancing"),
    ("I have two dogs.", "pet", "two dogs"),
    ("We have three kids and a garden.", "child", "three kids"),
    ("I have a sister named Ana.", "sibling", "Ana"),
    ("My son Oliver starts school.", "child", "Oliver"),
    ("Yes! Oscar, my guinea pig, is well.", "pet", "Oscar"),
    ("I was diagnosed with celiac disease.", "has_condition", "celiac disease"),
    ("I'm a member of the rowing club.", "member_of", "the rowing club"),
]

SILENT = """
    I never went to Paris.
    I nearly bought a boat.
    I almost joined the navy.
    I didn't join a gym.
    I haven't been volunteering lately.
    I used to love spinach.
    I tried to call you yesterday.
    I made it!
    I got it, thanks.
    I got this error when I ran it.
    I've got a meeting tomorrow.
    I've still got a lot to learn.
    I have got a cold.
    I went there yesterday.
    I did everything right.
    I had a great time.
    I had a question about that.
    I've been thinking about it a lot.
    I've been doing well lately.
    I'm going to be fine.
    I'm going to ask you something.
    I'm gonna keep going.
    I'm looking into it.
    I'm running late.
    I want to know more.
    I want to thank you.
    I want to help you.
    My goal is to win it.
    Volunteering is a great way to meet people.
    This book I read last year reminds me of home.
    They are my favourite.
    She joined a gym last week.
    My sister went to Paris.
    You joined a gym last week.
    Join a gym.
    The company bought a mill in 1990.
    My friends say they painted the house.
    It was painted red.
    Made in Portugal.
    Finding investors has been tough for everyone, they say.
"""


@pytest.mark.parametrize(("text", "predicate", "value"), TOLD)
def test_what_somebody_tells_of_themselves_is_claimed_of_them(text, predicate, value):
    for speaker in (None, "Melanie"):
        found = [(claim.subject, claim.predicate, claim.value) for claim in extract(text, speaker=speaker)]
        assert found == [((speaker or "user").lower(), predicate, value)]
        (claim,) = extract(text, speaker=speaker)
        assert (claim.first_person, claim.certain, claim.negated, claim.quoted) == (True, True, False, False)


@pytest.mark.parametrize("text", [line.strip() for line in SILENT.strip().splitlines()])
def test_what_is_no_deed_of_the_speaker_claims_nothing(text):
    assert extract(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Maybe I joined a gym last week.",
        "If I joined a gym, I would go.",
        "I think I went to a jazz concert once.",
        "Did you know that I joined a gym?",
        "I wish I painted the kitchen.",
        "I hope I passed my driving test.",
        "Imagine I bought a castle.",
    ],
)
def test_what_is_doubted_asked_or_wished_is_not_certain(text):
    assert not any(claim.certain for claim in extract(text))


@pytest.mark.parametrize(
    "text",
    [
        'The postcard read "I joined a circus last week".',
        "> I joined a circus last week",
        "```\nI joined a circus last week\n```",
        "Bob told me I joined a circus.",
        "Subject: hello\n-----Original Message-----\nI joined a circus last week",
    ],
)
def test_other_people_s_words_are_quoted(text):
    assert all(claim.quoted and not claim.first_person for claim in extract(text))


def test_several_things_that_are_told_in_one_turn_are_claims_each():
    text = "I joined a gym last week and I've been practicing yoga. My dream is to open a studio. I have two dogs."
    assert [(claim.predicate, claim.value) for claim in extract(text)] == [
        ("has_done", "joined a gym last week"),
        ("busy_with", "practicing yoga"),
        ("goal", "open a studio"),
        ("pet", "two dogs"),
    ]


def test_an_assistant_s_deeds_are_nobody_s():
    assert extract("Assistant: I joined a gym last week.") == []


@pytest.mark.parametrize(
    "text",
    [
        "After I quit my job at Boeing, I will travel the world.",
        "I'll be happy when I quit my job at Boeing.",
        "Tell me once I quit my job at Boeing.",
        "Not that I quit my job at Boeing.",
        "I quit my job at Boeing, said Tom.",
        "I left Boeing for a dentist appointment.",
        "I left Google today at 6pm.",
        "I left Microsoft because my shift was over.",
        "I left Anthropic to join a call.",
        "I temporarily left Boeing.",
        "I practically quit my job at Boeing.",
        "I divorced Anna in my novel.",
        "I separated from Anna at the airport.",
        "I moved out of Berlin office to the second floor.",
        "I stopped drinking coffee at noon.",
        "I eat meat now and then.",
    ],
)
def test_what_may_be_or_was_for_an_hour_ends_nothing(text):
    assert [s for s in read_text(text, {}).statements if s.retracts] == []


@pytest.mark.parametrize(
    "text",
    [
        "I eat gluten-free bread now.",
        "I eat vegan cheese now.",
        "I eat peanut butter now.",
        "I eat plant-based meat again.",
    ],
)
def test_what_a_diet_allows_ends_no_diet(text):
    assert "diet" not in {s.predicate for s in read_text(text, {}).statements if s.retracts}


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("I quit my job at Boeing.", ("works_at", "Boeing")),
        ("I left Boeing last month.", ("works_at", "Boeing")),
        ("I moved out of Berlin.", ("lives_in", "Berlin")),
        ("I divorced Anna in 2024.", ("spouse", "Anna")),
        ("I stopped drinking coffee.", ("drinks", "coffee")),
    ],
)
def test_what_ended_ends(text, ended):
    assert ended in [(s.predicate, s.value) for s in read_text(text, {}).statements if s.retracts]


@pytest.mark.parametrize("text", ["I suffer from nothing.", "I was diagnosed with my doctor's help."])
def test_no_illness_is_none(text):
    assert "has_condition" not in {claim.predicate for claim in extract(text)}
