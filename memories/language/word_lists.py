"""English words that routing knows: which say nothing of a subject, tell a mood, ask for something, or are no names.

All lower-case.
"""


def listed(words: str) -> frozenset[str]:
    """The words of a block of text."""
    return frozenset(words.split())


# Never a topic; also never a name, whatever stands at the beginning of a sentence.
STOPWORDS = listed("""
    a about above across actually after again against ago all almost alone along already also although always am
    among an and another any anybody anyone anything anyway anywhere apparently are aren around as asked aside
    asking at away back basically be became because become been before began behind being believe below beside
    besides better between beyond both but by came can cannot certain certainly come comes coming could couldn
    couple definitely did didn different do does doesn doing don done down during each earlier either else
    enough especially etc even eventually ever every everybody everyone everything everywhere exactly except far
    few finally first for former found from further gave get gets getting give given gives giving go goes going
    gone gonna got gotta great had hadn has hasn have haven having he hello hence her here hers herself hey hi
    him himself his hopefully how however hundred i if in indeed instead into is isn it its itself just keep
    keeps kept kind kinda knew know known knows last lately later least less let lets like little long look
    looked looking looks lots made mainly make makes making many may maybe me mean meanwhile might mine minute
    more most mostly much must my myself near nearly need needed needs neither never nevertheless new next no
    nobody none nor not nothing now nowhere obviously of off often oh ok okay on once one ones only onto or
    other others otherwise ought our ours ourselves out over own people perhaps person place please plus
    possible possibly pretty probably quite rather really recently right said same saw say saying says second
    see seem seemed seems seen several shall she should shouldn similar simply since so some somebody somehow
    someone something sometime sometimes somewhere soon sort still stuff such sure take taken takes taking tell
    tells than thank thanks that the their theirs them themselves then there therefore these they thing things
    think thinking third this those though thought thousand three through throughout thus till time times to
    today together told tomorrow tonight too took toward towards tried tries try trying turn twice two under
    unless unlike until up upon us use used uses using usually various very via want wanted wants was wasn way
    ways we well went were weren what whatever when whenever where whereas wherever whether which while who
    whoever whole whom whose why will with within without won wonder would wouldn wow yeah yes yesterday yet you
    your yours yourself yourselves gotten happen happened happens hear heard instance least meant minutes months
    month moment hours hour years year weeks week days morning evening afternoon night rest seeing shows showed
    showing start started stop talk talked talking thats theres whats worth whose yall youre https dont doesnt
    didnt cant wont isnt im ive ill
""")

POSITIVE = listed("""
    love loves loved loving great excellent happy happily happiness happier happiest good best better wonderful
    amazing fantastic awesome brilliant perfect perfectly beautiful delighted delightful enjoy enjoys enjoyed
    enjoying enjoyable excited exciting excitement glad pleased proud pride grateful gratitude thankful thrilled
    joy joyful joyous fun superb terrific nice lovely cheerful success successful successfully win wins won
    winning hope hopeful inspired inspiring inspiration impressed impressive incredible outstanding satisfied
    succeed succeeded celebrate celebrated celebrating comfortable relaxed relaxing relieved blessed blessing
    kindness peaceful adore adored adorable rewarding fulfilling magnificent marvelous marvellous
""")

NEGATIVE = listed("""
    hate hates hated hating bad badly terrible terribly sad sadly sadness worst worse awful horrible horribly
    angry anger annoyed annoying afraid fear fears feared scared scary frightened frightening disappointed
    disappointing disappointment upset upsetting worried worry worries worrying anxious anxiety stressed stress
    stressful depressed depressing depression miserable pain painful hurt hurts hurting suffer suffers suffered
    suffering fail fails failed failing failure lost loss lose loses losing broken problem problems trouble
    troubles wrong ugly disgusting dreadful frustrated frustrating frustration lonely grief grieving cry cries
    cried crying died death dead tragic tragedy sick ill regret regrets regretted guilty ashamed embarrassed
    embarrassing unhappy exhausted overwhelmed devastated heartbroken furious jealous hopeless useless poor
    poorly unfortunately nightmare
""")

# What asks for which kind of memory; `search_types` of a question.
PROCEDURAL_ASKS = ("how to", "how do i", "how do we", "how do you", "how can i", "how should i", "steps to")
PROCEDURAL_WORDS = listed("guide tutorial instructions procedure recipe walkthrough")
SEMANTIC_ASKS = ("what is", "what are", "what does", "what's", "what’s")
SEMANTIC_WORDS = listed("define defines definition explain explains meaning means")
EPISODIC_ASKS = ("last week", "last month", "last year", "last night", "last time", "when did", "when was")
EPISODIC_WORDS = listed("""
    remember remembers yesterday happened meeting met discussed talked told ago earlier recently
""")

# What tells that a text reports something that happened, rather than how things are.
PAST_WORDS = listed("""
    yesterday ago met went happened told visited called bought saw came discussed attended celebrated arrived
    left started finished joined moved tonight today remember recently
""")

# What puts the steps of a procedure in order, and who appears in a story but not in a procedure.
NEXT_WORDS = listed("then next second secondly afterwards finally")
PRONOUNS = listed("i we he she they my our his her their me us him them")

CALENDAR = listed("""
    january february march april may june july august september october november december jan feb mar apr jun
    jul aug sept sep oct nov dec monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu
    thurs fri sat sun mondays tuesdays wednesdays thursdays fridays saturdays sundays spring summer autumn
    winter
""")

# Words that begin sentences and headings with a capital, and are no names.
OPENERS = STOPWORDS | listed("""
    according add adding additionally admittedly agree agreed allow amazing answer apologies apparently
    appreciate ask assistant attached avoid awesome background bad based beautiful best big book booked bought
    bring brother budget build buy call called cannot capital careful catch chapter change changed check choose
    city class classes clearly click close code color common company complete conclusion congrats
    congratulations consider contact contacts cool copy correct create crazy cute dad daddy date dates dear
    decide decided deadline delete deploy description details discussed discussing do doctor doctors document
    download draft dream drop due edit email emailed end engineer enjoy enter error event events everyday
    example exciting expect experience fair family fantastic favorite favourite feel feels figure file fill find
    fix focus follow following food fortunately forward friend friends fun furthermore game glad goal goals good
    gosh grab grandma grandpa granny guess guys ha haha happy hard hate head health heading help helping here's
    hmm hold home honestly hooray hope hoping how's huge human idea ideas imagine import important in-depth
    include including info information initially insert install interesting introduction invite issue job jobs
    join joined juice keeping kid kids label language large learn learned learning leave left lesson life list
    listen live lives living location lol love loved loves lovely luckily mama manager market match math matter
    meet meeting meetings melody message messages met mom mommy money moreover mother mum mummy music name names
    natural nah nice non note noted notes number occasionally old omg online open optional order original
    originally output overall overview owner page papa parent parents part pay perfect phew phone photo pick
    plan planning plans play post prefer prepare present prior problem product project prompt provide published
    put question questions quick quickly rain read reading ready reason recap recipe red regarding regardless
    related remember remind reminder remove replace reply report request require required requirement
    requirements research result results return review role run sad safe save school science search section
    select send sent separate server service set setting share shop sick simple single sister sleep small smart
    social solution sometime sorry sounds source speak speaking special specifically spend staff state status
    stay step steps strange strong student students study subject suddenly suggest suggestion summary super
    support surprisingly sweet system task tasks teacher teachers team tech technically test text theory tip
    tips title todo topic total totally training travel tried true trust truth type ugh understand understood
    unfortunately university unknown update updated updates user users version video visit visited visiting wait
    walk warning watch water wear web website weekend welcome whoa winner wish woah wonderful word work worked
    working works world worried worry worse write writing written yay yep yikes yup zero absolutely accordingly
    afterwards alright anyways average bye cheers currently daily definition despite dinner breakfast lunch easy
    eat eating exercise extra finding generally goodbye goodnight greetings hang hanging hiking holiday
    immediately incredible inspired inspiring kindly literally lost mainly makes maintain miss missing moving
    monthly mostly notice otherwise painting per personally pizza playing practically previously primarily
    promise proud really running seriously several shout singing sitting slowly speaker staying stick stuff
    surely swimming taking talking thankfully thanking thoughts typically ultimately volunteering walking weekly
    whenever wondering yearly yum both mine error bug feature ai api cpu gpu url id sql json http https html css
    ui ux url pdf faq cto ceo cfo coo hr pr qa it tv pc am pm asap fyi btw diy vip imo tbd eta rsvp aka etc nb
    ps re fw fwd cc bcc usd eur gbp
""")
# Written with capitals for other reasons than being a name.
NO_NAMES = listed("i i'm i've i'd i'll god mom dad mum grandma grandpa mommy daddy sir madam ok tv am pm")

# What the words around a name say about it.
PERSON_BEFORE = listed("""
    friend coworker colleague boss manager son daughter brother sister husband wife partner cousin neighbor
    neighbour mother father roommate girlfriend boyfriend teammate mentor named nephew niece client met meet
    told tell ask asked thank thanks hey hi hello dear name congrats congratulations married dating hugged
""")
PERSON_AFTER = listed("""
    said says told asked replied thinks thought loves likes hates prefers wants lives works moved joined met
    married called texted emailed agreed laughed smiled whispered answered
""")
TRAVEL = listed("""
    live lives lived living move moved moving born stay stayed staying travel traveled travelled traveling
    travelling flew fly flying drive drove trip vacation holiday based located back headed heading went going
    arrived relocated reside resides office hometown city town capital grew up
""")
PLACE_BEFORE = listed("in to from near around")
SEEING = listed("visit visits visited visiting toured exploring explored")
WORK = listed("""
    work works worked working job jobs interned intern internship employed ceo cto cfo founder engineer manager
    position hired interview role employee president director head career
""")
WORK_BEFORE = listed("at for from of with")
JOINING = listed("joined founded")
