"""Names that the recogniser knows, lower-case: people, places, organisations, and words that only look like names.

Small on purpose: common enough to be met in ordinary English, and unlikely to mean something else.
"""

from typing import Literal

from memories.language.word_lists import listed

Label = Literal["person", "organization", "location", "misc"]


def phrases(names: str) -> frozenset[str]:
    """The comma-separated names of a block of text."""
    return frozenset(" ".join(name.split()) for name in names.split(",") if name.strip())


GIVEN_NAMES = listed("""
    luigi barack elon haruki ludwig wolfgang kamala donald greta joaquin keanu oprah beyonce malala nelson
    mahatma narendra emmanuel angela volodymyr recep justin jacinda sundar satya tim jeff larry bill steve ada
    grace alan linus guido brendan yukihiro bjarne donald edsger barbara marie albert isaac galileo niels
    rosalind jocelyn chidi ngozi kwame adaeze amara olu tunde yewande femi kofi abena sipho thandi lerato zanele
    ayumi haruto sakura yuto hinata mei xiu jing hui yifan yichen minjun jiwoo seoyeon hyun soo linh thuy minh
    tuan anh budi siti putu aarav advait ananya diya isha kabir meera nisha pooja rhea rishi sneha tanvi varun
    vikas zoya leyla emre elif zeynep burak cem deniz piotr agnieszka wojciech kasia tomasz marek jana zuzana
    ondrej bogdan ioana mihai radu nikos eleni yannis dimitris aoife niamh saoirse ciaran siobhan eoin cillian
    gwendolyn rhys ioan mathilde amelie juliette margaux antoine maxime bastien corentin jurgen jürgen ulrike
    anja birgit dieter gunther heike heinrich helga matthias sabine torsten uwe freja soren søren mikkel lasse
    ingeborg aino eero juhani mikko xiomara joão inês tiago rui luís josé maría sofía andrés raúl jesús ramón
    adrián íñigo begoña núria zoë chloë renée andré françois hélène jérôme aaliyah aaron abby abdul abdullah
    abigail abraham adam adele adrian adriana agnes ahmad ahmed aisha akira alan albert alberto alejandra
    alejandro alessandro alex alexa alexander alexandra alexis alfred ali alice alicia alina alisha alison
    alistair allison alma alvin alyssa amanda amara amelia amina amir amit amy ana anand anastasia anders andre
    andrea andreas andres andrew andy angel angela angelina angus anita anjali ankit ann anna annabelle anne
    annette annie anthony antoine anton antonia antonio anya arash archie ariana arianna ariel arjun arnold
    arthur arturo arun asha ashley astrid audrey ava avery aya ayaan ayesha barbara barry beatrice beatriz becky
    belinda ben benedict benjamin bernard bernadette bert beth bethany betty beverly bianca bjorn bob bobby
    boris brad bradley brandon brenda brendan brent brett brian brianna bridget britney bruce bruno bryan
    caitlin caleb calvin cameron camila camille carl carla carlos carmen carol carolina caroline carolyn carrie
    carter casey cassandra catalina catherine cathy cecilia cedric chandra charles charlie charlotte chelsea
    chen cheryl chiara chloe chris christian christina christine christoph christopher cindy claire clara
    clarence claude claudia clement clifford clive cody colin colleen connie connor conor conrad constance corey
    courtney craig cristina crystal curtis cynthia daisuke damian damien dan dana daniel daniela danielle danny
    daphne darius darlene darren dave david deborah debbie debra deepak deepika delia denise dennis derek
    desmond devon diana diane diego dimitri dmitri dmitry dolores dominic dominique don donald donna dora doris
    dorothy doug douglas duncan dustin dwayne dylan ed eddie edgar edith eduardo edward edwin eileen elaine
    eleanor elena eli elijah elisa elisabeth elise eliza elizabeth ella ellen ellie elliot elliott elsa elsie
    emil emilia emily emma emmanuel enrique enzo eric erica erik erika erin ernest esteban esther ethan eugene
    eva evan eve evelyn fabian farah farid fatima felicia felicity felipe felix fernanda fernando finn fiona
    francesca francesco francis francisco francois frankie fred freddie frederick freya frida gabriel gabriela
    gabrielle gareth gary gavin gemma genevieve geoff geoffrey george gerald gerard gilbert gina giovanni gisela
    giulia gloria gordon graham greg gregory greta guillermo gustav gustavo gwen hamza han hannah hans harold
    harriet harry harvey hassan hector heidi helen helena henri henrik henry herbert hiroshi holly howard hugh
    hugo hussein ian ibrahim ida igor imani imran indira ines ingrid irene irina iris isaac isabel isabella
    isabelle ishaan ismail ivan ivy jackie jacob jacqueline jacques jaime jake jakob james jamal jamie jan jane
    janet janice jared jasmin jasmine jason javier jay jean jeff jeffrey jen jenna jennifer jenny jeremiah
    jeremy jerome jerry jesse jessica jill jim jimmy joan joana joanna joanne joe joel joey johan johanna
    johannes john johnny jon jonah jonas jonathan jorge jose josef joseph josephine josh joshua joyce juan juana
    judith judy julia julian juliana julie juliet julio julius jun justin kai kamal karen karin karina karl
    karla kate katherine kathleen kathryn kathy katie katrina katya kavya kayla keith kelly kelsey ken kendra
    kenji kenneth kerry kevin khalid kim kimberly kiran kirsten klaus krishna kristen kristin kristina kurt kyle
    lakshmi lara larry lars laura lauren laurence lawrence layla lea leah leila lena leo leon leonard leonardo
    leroy leslie lewis liam liang lillian lily lin linda lindsay ling linus lionel lisa liz liza lloyd lois lola
    lorenzo lorraine louis louisa louise luc luca lucas lucia lucy luis luisa luka lukas luke luna lydia lynn
    mabel madeleine maggie mahmoud maja malcolm malik manuel marc marcel marcia marco marcos marcus margaret
    margarita maria mariah mariam marian mariana marie marilyn marina mario marion marissa marjorie marlene
    marta martha martin martina marvin mary maryam mateo mathias matt matteo matthew maureen maurice max maxine
    maya megan mehmet mei mel melanie melinda melissa mercedes meredith mia michael michaela michel michele
    michelle miguel mika mike mikhail mila milan mildred millie milo mina ming miranda miriam mitchell mohamed
    mohammad mohammed moira molly mona monica monika monique morgan moses muhammad nadia nadine nancy naomi
    natalia natalie natasha nathan nathaniel neha neil nelson nicholas nick nicola nicolas nicole nigel nikhil
    nikita nikolai nina noah noel noor nora norma norman olga oliver olivia omar oscar otto owen pablo pamela
    paolo patricia patrick paul paula pauline pavel pedro peggy penelope penny percy pete peter petra phil
    philip philippe phillip phoebe pierre polly prakash pranav preeti priya rachel rafael raj rajesh ralph
    ramesh ramon randy raquel rashid raul ravi raymond rebecca regina reginald rene renee reza ricardo richard
    rick ricky riley rita robert roberta roberto rodney rodrigo roger rohan rohit roland roman romeo ron ronald
    ronnie rory rosa rosalie rosemary rosie ross roxanne roy ruben rudolf rupert russell ruth ryan saanvi
    sabrina sadie saeed sally sam samantha samir samuel sandeep sandra sanjay santiago sara sarah sasha satoshi
    scott sean sebastian selena serena sergei sergey sergio seth shane shannon sharon shaun shawn sheila shirley
    shreya sidney siena sigrid silvia simon simone sofia sonia sonja sophia sophie stacy stan stanley stefan
    stefanie stella stephanie stephen steve steven stewart stuart sunil sunita suresh susan susanna suzanne sven
    svetlana sylvia takashi tamara tania tanya tara tariq tasha tatiana ted teresa terrence terry tessa thea
    thelma theo theodore theresa thiago thomas tiffany tim timothy tina tobias todd tom tomas tommy toni tony
    tracy travis trevor tricia trisha tyler uma ursula valentina valeria valerie vanessa vera vernon veronica
    vicky victor vijay vikram vincent viola violet vivian vladimir walter wanda wanjiru warren wayne wei wendy
    wesley wilfred wilhelm willem william willie winston wolfgang xavier xiao yan yasmin yolanda yosef yuki yuri
    yusuf yves yvette yvonne zach zachary zahra zara zoe zoey
""")

# Given names that are words too: a name only where the sentence gives another sign.
WORDY_NAMES = listed("""
    amber angel april art august autumn bill brook buddy carol charity chase christian clay crystal daisy dawn
    dean destiny don drew eve faith forest frank gene ginger glen grace grant guy harmony hazel heather heath
    hope hunter ivy jack jade jasmine jean jewel josh joy june kitty lance lily luna mark mason max may melody
    mercy mike miles nick olive pat patience pearl penny pepper pierce ray reed rich robin rod rose ruby sage
    sandy skip sky sterling storm sue summer sunny terry tiger violet wade ward will woody
""")

# Given names that are places too, and usually mean the person.
PLACES_AS_NAMES = listed("charlotte jordan madison jackson chelsea carolina israel lincoln montana savannah sierra")

SURNAMES = listed("""
    adams allen anderson bailey baker barnes bennett brooks brown bryant campbell carter chen clark collins
    cooper cruz davies davis diaz edwards evans fischer fisher flores foster garcia gomez gonzalez green griffin
    gupta gutierrez hall harris hayes henderson hernandez hill howard huang hughes jackson jenkins johnson jones
    kaur kelly khan kim kumar lee lewis li lopez martin martinez miller mitchell moore morgan morris mueller
    murphy nguyen ortiz parker patel patterson perez perry peterson phillips powell price ramirez reyes reynolds
    richardson rivera roberts robinson rodriguez rogers ross russell sanchez sanders schmidt schneider scott
    sharma simmons singh smith stewart suzuki tanaka taylor thomas thompson torres turner wagner walker wang
    ward washington watson weber white williams wilson wong wood wright yamamoto yang young zhang
""")

TITLES = listed("""
    dr mr mrs ms miss mx prof professor doctor sir madam dame lord lady captain capt colonel col major sergeant
    sgt lieutenant lt general gen senator sen congressman congresswoman president pres governor gov mayor judge
    justice rev reverend pastor rabbi imam uncle aunt auntie coach chef detective officer nurse king queen
    prince princess
""")

# What a full stop after does not end a sentence.
ABBREVIATIONS = listed("mr mrs ms dr prof capt col sgt lt gen sen pres gov rev st mt")

PLACES = phrases("""
    afghanistan, albania, algeria, angola, argentina, armenia, australia, austria, azerbaijan, bahrain,
    bangladesh, belarus, belgium, bolivia, botswana, brazil, britain, bulgaria, cambodia, cameroon, canada,
    chile, china, colombia, congo, costa rica, croatia, cuba, cyprus, czechia, denmark, dominican republic,
    ecuador, egypt, el salvador, england, estonia, ethiopia, fiji, finland, france, germany, ghana, great
    britain, greece, greenland, guatemala, haiti, holland, honduras, hungary, iceland, india, indonesia, iran,
    iraq, ireland, israel, italy, ivory coast, jamaica, japan, kazakhstan, kenya, kuwait, laos, latvia, lebanon,
    libya, lithuania, luxembourg, madagascar, malaysia, maldives, malta, mauritius, mexico, moldova, monaco,
    mongolia, montenegro, morocco, mozambique, myanmar, namibia, nepal, netherlands, new zealand, nicaragua,
    niger, nigeria, north korea, northern ireland, norway, oman, pakistan, palestine, panama, paraguay, peru,
    philippines, poland, portugal, puerto rico, qatar, romania, russia, rwanda, saudi arabia, scotland, senegal,
    serbia, singapore, slovakia, slovenia, somalia, south africa, south korea, spain, sri lanka, sudan, sweden,
    switzerland, syria, taiwan, tanzania, thailand, tunisia, turkey, uganda, ukraine, united arab emirates,
    united kingdom, united states, united states of america, uruguay, uzbekistan, venezuela, vietnam, wales,
    yemen, zambia, zimbabwe, usa, uk, uae, u.s, u.s.a, u.k, america, africa, asia, europe, antarctica, north
    america, south america, latin america, middle east, scandinavia, caribbean, balkans, pacific northwest,
    midwest, new england, alabama, alaska, arizona, arkansas, california, colorado, connecticut, delaware,
    florida, georgia, hawaii, idaho, illinois, indiana, iowa, kansas, kentucky, louisiana, maine, maryland,
    massachusetts, michigan, minnesota, mississippi, missouri, nebraska, nevada, new hampshire, new jersey, new
    mexico, new york, north carolina, north dakota, ohio, oklahoma, oregon, pennsylvania, rhode island, south
    carolina, south dakota, tennessee, texas, utah, vermont, virginia, west virginia, wisconsin, wyoming,
    ontario, quebec, british columbia, alberta, nova scotia, bavaria, catalonia, tuscany, provence, queensland,
    new south wales, tasmania, punjab, kerala, abu dhabi, accra, addis ababa, adelaide, amsterdam, ankara,
    antwerp, athens, atlanta, auckland, austin, baghdad, bali, baltimore, bangalore, bengaluru, bangkok,
    barcelona, basel, beijing, beirut, belfast, belgrade, berlin, bilbao, birmingham, bogota, bologna, bordeaux,
    boston, bratislava, brisbane, bristol, brooklyn, brussels, bucharest, budapest, buenos aires, cairo,
    calgary, cambridge, canberra, cape town, caracas, cardiff, casablanca, chennai, chicago, cincinnati,
    cleveland, cologne, copenhagen, cordoba, dallas, damascus, delhi, denver, detroit, dhaka, doha, dresden,
    dubai, dublin, durban, dusseldorf, düsseldorf, edinburgh, edmonton, florence, frankfurt, geneva, genoa,
    glasgow, gothenburg, granada, guangzhou, hamburg, hanoi, havana, helsinki, hiroshima, ho chi minh city,
    hollywood, hong kong, honolulu, houston, hyderabad, istanbul, jakarta, jerusalem, johannesburg, kabul,
    kansas city, karachi, kathmandu, kiev, kyiv, kolkata, krakow, kuala lumpur, kyoto, lagos, lahore, las vegas,
    leeds, leipzig, lima, lisbon, liverpool, ljubljana, london, los angeles, lyon, madrid, malaga, manchester,
    manhattan, manila, marrakech, marseille, melbourne, memphis, mexico city, miami, milan, milwaukee,
    minneapolis, minsk, montevideo, montreal, moscow, mumbai, munich, nairobi, naples, nashville, new delhi, new
    orleans, new york city, nyc, newcastle, nottingham, oakland, orlando, osaka, oslo, ottawa, oxford, palo
    alto, paris, perth, philadelphia, phoenix, pittsburgh, porto, prague, pune, quito, reykjavik, riga, rio, rio
    de janeiro, riyadh, rome, rotterdam, sacramento, salzburg, san antonio, san diego, san francisco, san jose,
    santiago de chile, sao paulo, são paulo, sarajevo, seattle, seoul, seville, shanghai, sheffield, shenzhen,
    stockholm, stuttgart, sydney, taipei, tallinn, tampa, tbilisi, tehran, tel aviv, tokyo, toronto, toulouse,
    tripoli, tunis, turin, utrecht, valencia, vancouver, venice, vienna, vilnius, warsaw, washington, washington
    dc, wellington, zagreb, zurich, zürich, silicon valley, grand canyon, yellowstone, yosemite, alps,
    himalayas, andes, sahara, amazon rainforest, mount everest, mount fuji, niagara falls, times square, central
    park, wall street, eiffel tower, golden gate bridge, machu picchu, pacific, atlantic, mediterranean
""")

ORGANIZATIONS = phrases("""
    3m, adidas, adobe, airbnb, airbus, air france, alibaba, amazon, amd, american airlines, anthropic, apple,
    aramco, associated press, at&t, atlassian, audi, bank of america, barclays, bayer, bbc, berkshire hathaway,
    bloomberg, bmw, boeing, bosch, british airways, bytedance, chevron, cia, cisco, citigroup, cloudflare, cnn,
    coca-cola, costco, dell, deloitte, delta airlines, deutsche bahn, deutsche bank, dhl, disney, doordash,
    dropbox, ebay, ericsson, espn, etsy, expedia, exxon, facebook, fbi, fedex, ferrari, fifa, ford motor,
    foxconn, fujitsu, general electric, general motors, github, gitlab, goldman sachs, google, greenpeace,
    harvard, heineken, hewlett-packard, hitachi, home depot, honda, hsbc, huawei, hubspot, hugging face,
    hyundai, ibm, ikea, imf, instagram, intel, irs, johnson & johnson, jpmorgan, kpmg, l'oréal, lego, lenovo,
    lg, linkedin, lockheed martin, lufthansa, lyft, macy, mastercard, mcdonald, mcdonald's, mckinsey,
    mercedes-benz, microsoft, mit, mitsubishi, mongodb, morgan stanley, mozilla, nasa, nato, nba, nestle,
    nestlé, netflix, new york times, nfl, nhs, nike, nintendo, nissan, nokia, nvidia, openai, oxfam, panasonic,
    paypal, pepsico, pfizer, philips, pinterest, porsche, princeton, procter & gamble, pwc, qualcomm, red cross,
    reddit, red hat, reuters, roche, rolls-royce, ryanair, salesforce, samsung, sap, shopify, siemens, slack,
    snapchat, snowflake, softbank, sony, spacex, spotify, stanford, starbucks, stripe, tencent, tesla, tiktok,
    toyota, tripadvisor, twilio, twitter, uber, ubisoft, ucla, unesco, unicef, unilever, united nations, ups,
    vatican, verizon, vodafone, volkswagen, volvo, walmart, wall street journal, warner bros, washington post,
    wells fargo, whatsapp, white house, wikipedia, world bank, world health organization, xerox, yale, youtube,
    zoom, eu, un, european union, congress, parliament, supreme court, real madrid, bayern munich, manchester
    united, fc barcelona
""")

# Known names that are neither: languages, peoples, faiths, feasts, technologies.
OTHER_NAMES = phrases("""
    american, african, arab, arabic, argentinian, asian, australian, austrian, bavarian, belgian, bengali,
    brazilian, british, bulgarian, canadian, catalan, chilean, chinese, colombian, croatian, cuban, czech,
    danish, dutch, egyptian, english, ethiopian, european, filipino, finnish, french, german, greek, hebrew,
    hindi, hungarian, indian, indonesian, iranian, iraqi, irish, israeli, italian, jamaican, japanese, jewish,
    kenyan, korean, latin, latino, lebanese, malaysian, mandarin, mexican, moroccan, nigerian, norwegian,
    pakistani, persian, peruvian, polish, portuguese, romanian, russian, scottish, serbian, spanish, swahili,
    swedish, swiss, syrian, tamil, thai, tibetan, turkish, ukrainian, urdu, vietnamese, welsh, buddhism,
    buddhist, catholic, christianity, hindu, islam, judaism, muslim, protestant, christmas, christmas eve,
    diwali, easter, eid, hanukkah, halloween, ramadan, thanksgiving, new year, independence day, olympics, world
    cup, super bowl, nobel prize, world war ii, android, ansible, azure, aws, bitcoin, blender, chatgpt, debian,
    django, docker, ethereum, excel, firefox, flask, gemini, gmail, gpt, grafana, hadoop, haskell, ios, iphone,
    ipad, java, javascript, jira, kafka, kotlin, kubernetes, latex, linux, macbook, macos, mysql, notion, numpy,
    pandas, perl, photoshop, php, playstation, postgres, postgresql, powerpoint, prometheus, python, pytorch,
    rabbitmq, redis, ruby on rails, rust, scala, sqlite, tensorflow, terraform, typescript, ubuntu, unix, vue,
    windows, xbox, covid, covid-19, wi-fi, bluetooth, internet, bible, quran, koran, torah
""")

# Known names that mean something else without their capitals.
NEEDS_CAPITALS = listed("""
    apple amazon angel bali bath congress delta excel gemini georgia guinea internet intel java latin lego lg
    lima mit nice notion oracle parliament perth phoenix polish porto python reading rio rust shell slack
    snowflake stripe target thai turkey turin un ups us visa windows zoom eu who chile jordan chad mali sap dan
    ed jan jay ken kim lin ling ming han jun kai wei yan don ali amit arun asha dora eli eve gary gene milan
    mina ida ella ben josh jen liz max mel pete rick sally tim tom ted van vera penny lea ross curtis kurt kelly
    carter mason tara uma roman moses blender scala perl
""")

# Last words of an organisation's or a place's name, and first words of a place's.
ORGANIZATION_ENDINGS = listed("""
    inc corp corporation ltd limited llc llp gmbh ag plc co company university college institute school academy
    bank foundation hospital clinic agency group labs laboratories laboratory technologies technology systems
    solutions software industries association committee council department ministry commission partners holdings
    ventures capital airlines airways motors pharmaceuticals consulting media press times assembly office
    society federation union party club team orchestra museum library church airlines studios records
    entertainment networks energy insurance
""")
PLACE_ENDINGS = listed("""
    street avenue road boulevard lane river lake mountain mountains park beach island islands county city bay
    valley canyon square bridge airport station forest ocean sea desert falls hills heights peninsula coast
    village town district province harbor harbour garden gardens creek plaza trail cathedral castle palace tower
""")
PLACE_BEGINNINGS = listed("mount mt lake fort port san santa los las saint st cape north south east west rio")
# Words after which "of" goes on with the name.
MORE_HEADS = listed("gulf isle states kingdom republic house statue board")
HEADS_OF_NAMES = (ORGANIZATION_ENDINGS | PLACE_ENDINGS | MORE_HEADS) - listed("co team times party")
PARTICLES = listed("de da del della di du der van von la le al bin ibn el y")


def _known() -> dict[str, Label]:
    """What each listed name is; a name that is on several lists is what it most often is."""
    lists: list[tuple[Label, frozenset[str]]] = [
        ("misc", OTHER_NAMES),
        ("person", GIVEN_NAMES - WORDY_NAMES - PLACES_AS_NAMES),
        ("location", PLACES),
        ("organization", ORGANIZATIONS),
    ]
    return {name: label for label, names in lists for name in names}


KNOWN = _known()
# These are words but for their capitals.
KNOWN_BY_CAPITALS: dict[str, Label] = {"US": "location", "WHO": "organization"}
