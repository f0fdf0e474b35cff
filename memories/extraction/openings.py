"""Openings: the words that statements, questions and requests begin with, by their part in the sentence."""

from memories.language.word_lists import listed

# Interjections, adverbs, times, and labels of what follows.
OPENERS = listed("""
    a about again ah aha ahh aim alas all almost already alright always and another answer anyway aw background bad
    be big bit btw but by case clear constraints context cool correct correction couple currently day deal details
    dude edit er erm evening everyone fact facts fair few first forget forgot fun fyi goal good great guess guys
    haha hang heads hello helped helps here here's hey hi hiya hm hmm honest hooray however huh important info
    information issue its know last lately little lol long look looks lot luckily makes man mate matters maybe
    mentioned mind minor moment more moreover morning much nah new news next nice night nope note notice now
    nowadays of often oh ok okay on one oops other otherwise out perfect perhaps personally please plus problem ps
    question quick random reason record remember reminder right sadly same say scratch sense short situation small
    so some sometimes sorry sort sounds story sure tbh thank thanks that that's thats the then there there's thing
    things this three thx tiny tldr to today tomorrow tonight truth turns ugh uh um up update usually wait wanted way
    well whoops worked works wow wrong yeah yep yes yesterday yo your yup
""")
PREPOSITIONS = listed("""
    about after all although around as at because before being besides between both by despite during every except
    for from given half if in instead it's its like most neither none now on once one per since some though three
    throughout till today tomorrow tonight two under unless unlike until when whenever where while with without
    yesterday
""")
QUESTIONS = listed("""
    am any are can could did do does has have how how's is may shall should was were what what's whats when where
    where's which who's why will would
""")
REQUESTS = listed("""
    add avoid bear book bring buy call cancel change check choose compare cook cut do don't feel find forget
    get give help ignore increase keep let let's look lower make move order pick plan raise recommend reduce
    remember remind reserve schedule search send set show skip start stop suggest tell try update use you you've
""")
# What begins a statement that leaves out "I".
ELLIPTIC = listed("""
    allergic also based became been born bought broke can can't cannot cant didn't didnt divorced don't dont drive
    earn eight engaged finished five four glad got grew had happy hate have haven't havent hoping just left like
    live lived lost love married mostly moved need never nine no not only paid prefer pregnant quit retired seven
    single six sold spent started still ten three tired turned two used vegan vegetarian wanna want wanted wish
    won't wont work worked
""")
DATES = listed("""
    april august christmas december easter february friday january july june march may monday november october
    saturday september sunday thursday tuesday wednesday
""")
# What a clause of its own may follow.
LINKS = listed("""
    & and as because but cause cuz how if or since so than that that's though until what when where which while whom
""")
# What people have, and speak of without "my".
OWNED = listed("""
    address afternoons age anniversary apartment appointment baby back balcony bathroom battery bedroom bike
    birthday blood boiler budget car cat children commute computer deadline diet dog evenings family flat flight
    fridays fridge garage garden gym heating height holiday home house income internet job kids kitchen kitten knee
    laptop loan mondays mornings mortgage newborn nights nursery oven pension pet phone puppy rent room salary
    saturdays savings school shift shifts size sundays surgery thursdays toddler train trip tuesdays van wage
    weather wedding wednesdays weekends weight work
""")
