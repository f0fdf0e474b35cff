"""Texts in other languages than English claim nothing: the extractor reads English and guesses at nothing else."""

import pytest

from memories.extraction.claims import extract

GERMAN = """
    Ich heiße Anna und wohne in Berlin.
    Mein Name ist Thomas Müller.
    Ich arbeite bei Siemens als Ingenieur.
    Mein Budget ist 500 Euro.
    Ich bin Vegetarier.
    Ich mag Jazz und Blues.
    Ich habe zwei Hunde.
    Meine Frau heißt Ingrid.
    Ich war letzte Woche in Rom.
    Wir haben am Montag geheiratet.
    Ich lerne seit drei Jahren Spanisch.
    Ich spiele Klarinette in einem Orchester.
    Mein Geburtstag ist am 8. Mai.
    Ich bin allergisch gegen Erdnüsse.
    Ich möchte ein Café eröffnen.
    Gestern habe ich ein neues Fahrrad gekauft.
    Mein Sohn Oliver geht in die Schule.
    Ich bin 34 Jahre alt.
    Meine Lieblingsfarbe ist Grün.
    Ich habe meinen Job bei der Bank verloren.
    Früher wohnte ich in Hamburg.
    Wir planen eine Reise nach Norwegen.
    Ich engagiere mich im Tierheim.
    Mein Chef ist Herr Schmidt.
    Ich trinke keinen Kaffee mehr.
    Die Frist ist der 30. April.
    Mein Hund heißt Rex.
    Ich interessiere mich für Astronomie.
    Meine Mutter kommt aus Polen.
    Ich habe Medizin in Wien studiert.
    Ich fahre einen roten Volvo.
    Am Wochenende war ich wandern.
    Mein Traum ist es, ein Buch zu schreiben.
    Ich bin Mitglied im Ruderverein.
    Ich spreche Deutsch und Französisch.
    Wir wohnen seit 2019 in München.
    Ich bin Lehrerin an einer Grundschule.
    Meine E-Mail steht im Profil.
    Ich habe Asthma.
    Nächsten Monat ziehe ich nach Köln.
    Ich will im Sommer einen Marathon laufen.
    Das Budget für die Reise ist 900 Euro.
    Ich esse kein Fleisch.
    Mein Bruder ist Arzt.
    Ich habe gerade einen Roman gelesen.
    Unser Team hat gewonnen.
    Ich bin gestern dem Chor beigetreten.
    Meine Großmutter hat mir eine Kette geschenkt.
    Ich hasse Oliven.
    Ich male gern Landschaften.
    Wir haben drei Kinder.
    Mein Auto ist kaputt.
    Ich hatte ein Vorstellungsgespräch.
    Ich liebe meine Arbeit.
    Ich suche eine Wohnung in Leipzig.
    Der Arzt sagte, ich sei gesund.
    Ich bin in Lima geboren.
    Meine Telefonnummer hat sich geändert.
    Ich nehme an einem Workshop teil.
    Ich habe mich entschieden, umzuziehen.
    Ich bin Ana.
    Budget: 500 Euro, Frist: Freitag.
"""

SPANISH = """
    Me llamo Ana y vivo en Madrid.
    Mi nombre es Carlos Gómez.
    Trabajo en Telefónica como ingeniero.
    Mi presupuesto es de 500 euros.
    Soy vegetariano.
    Me gusta el jazz.
    Tengo dos perros.
    Mi esposa se llama Lucía.
    La semana pasada fui a Roma.
    Nos casamos el lunes.
    Estudio alemán desde hace tres años.
    Toco el clarinete en una orquesta.
    Mi cumpleaños es el 8 de mayo.
    Soy alérgica a los cacahuetes.
    Quiero abrir una cafetería.
    Ayer compré una bicicleta nueva.
    Mi hijo Oliver va a la escuela.
    Tengo 34 años.
    Mi color favorito es el verde.
    Perdí mi trabajo en el banco.
    Antes vivía en Sevilla.
    Planeamos un viaje a Noruega.
    Soy voluntaria en un refugio.
    Mi jefe es el señor López.
    Ya no bebo café.
    La fecha límite es el 30 de abril.
    Mi perro se llama Rex.
    Me interesa la astronomía.
    Mi madre es de Polonia.
    Estudié medicina en Salamanca.
    Conduzco un Volvo rojo.
    El fin de semana fui de excursión.
    Mi sueño es escribir un libro.
    Soy miembro del club de remo.
    Hablo español y francés.
    Vivimos en Valencia desde 2019.
    Soy maestra de primaria.
    Mi correo está en el perfil.
    Tengo asma.
    El mes que viene me mudo a Bilbao.
    Este verano voy a correr un maratón.
    El presupuesto del viaje es de 900 euros.
    No como carne.
    Mi hermano es médico.
    Acabo de leer una novela.
    Nuestro equipo ganó.
    Ayer me uní al coro.
    Mi abuela me regaló un collar.
    Odio las aceitunas.
    Me encanta pintar paisajes.
    Tenemos tres hijos.
    Mi coche está roto.
    Tuve una entrevista de trabajo.
    Amo mi trabajo.
    Busco piso en Zaragoza.
    El médico dijo que estoy sano.
    Nací en Lima.
    Mi teléfono ha cambiado.
    Participo en un taller.
    He decidido mudarme.
    Soy Ana.
    Yo soy de Chile, no de Argentina.
"""

FRENCH = """
    Je m'appelle Anne et j'habite à Paris.
    Mon nom est Thomas Dupont.
    Je travaille chez Renault comme ingénieur.
    Mon budget est de 500 euros.
    Je suis végétarien.
    J'aime le jazz et le blues.
    J'ai deux chiens.
    Ma femme s'appelle Ingrid.
    La semaine dernière je suis allé à Rome.
    Nous nous sommes mariés lundi.
    J'apprends l'espagnol depuis trois ans.
    Je joue de la clarinette.
    Mon anniversaire est le 8 mai.
    Je suis allergique aux arachides.
    Je voudrais ouvrir un café.
    Hier j'ai acheté un nouveau vélo.
    Mon fils Oliver va à l'école.
    J'ai 34 ans.
    Ma couleur préférée est le vert.
    J'ai perdu mon emploi à la banque.
    Avant, j'habitais à Lyon.
    Nous prévoyons un voyage en Norvège.
    Je suis bénévole dans un refuge.
    Mon patron est monsieur Martin.
    Je ne bois plus de café.
    La date limite est le 30 avril.
    Mon chien s'appelle Rex.
    Je m'intéresse à l'astronomie.
    Ma mère vient de Pologne.
    J'ai étudié la médecine à Lille.
    Je conduis une Volvo rouge.
    Ce week-end j'ai fait une randonnée.
    Mon rêve est d'écrire un livre.
    Je suis membre du club d'aviron.
    Je parle français et allemand.
    Nous habitons à Nantes depuis 2019.
    Je suis institutrice.
    Mon courriel est dans le profil.
    J'ai de l'asthme.
    Le mois prochain je déménage à Nice.
    Cet été je vais courir un marathon.
    Le budget du voyage est de 900 euros.
    Je ne mange pas de viande.
    Mon frère est médecin.
    Je viens de lire un roman.
    Notre équipe a gagné.
    Hier j'ai rejoint la chorale.
    Ma grand-mère m'a offert un collier.
    Je déteste les olives.
    J'adore peindre des paysages.
    Nous avons trois enfants.
    Ma voiture est en panne.
    J'ai eu un entretien d'embauche.
    J'aime mon travail.
    Je cherche un appartement à Bordeaux.
    Le médecin dit que je suis en bonne santé.
    Je suis né à Lima.
    Mon numéro a changé.
    Je participe à un atelier.
    J'ai décidé de déménager.
    Je suis Anne.
    Budget : 500 euros, échéance : vendredi.
"""

JAPANESE = """
    私の名前は田中です。
    東京に住んでいます。
    トヨタで働いています。
    予算は5万円です。
    私はベジタリアンです。
    ジャズが好きです。
    犬を二匹飼っています。
    妻の名前は花子です。
    先週ローマに行きました。
    月曜日に結婚しました。
    三年間スペイン語を勉強しています。
    クラリネットを吹きます。
    誕生日は5月8日です。
    ピーナッツアレルギーがあります。
    カフェを開きたいです。
    昨日新しい自転車を買いました。
    息子のオリバーは学校に通っています。
    34歳です。
    好きな色は緑です。
    銀行の仕事を失いました。
    以前は大阪に住んでいました。
    ノルウェー旅行を計画しています。
    保護施設でボランティアをしています。
    上司は佐藤さんです。
    もうコーヒーは飲みません。
    締め切りは4月30日です。
    犬の名前はポチです。
    天文学に興味があります。
    母は北海道の出身です。
    京都大学で医学を学びました。
    赤いボルボに乗っています。
    週末にハイキングをしました。
    夢は本を書くことです。
    ボート部の部員です。
    日本語と英語を話します。
    2019年から名古屋に住んでいます。
    小学校の教師です。
    メールアドレスはプロフィールにあります。
    喘息があります。
    来月福岡に引っ越します。
    夏にマラソンを走ります。
    旅行の予算は9万円です。
    肉は食べません。
    兄は医者です。
    小説を読み終えました。
    私たちのチームが勝ちました。
    昨日合唱団に入りました。
    祖母がネックレスをくれました。
    オリーブが嫌いです。
    風景画を描くのが好きです。
    子供が三人います。
    車が壊れました。
    面接を受けました。
    仕事が大好きです。
    札幌で部屋を探しています。
    医者は健康だと言いました。
    リマで生まれました。
    電話番号が変わりました。
    ワークショップに参加しています。
    引っ越すことにしました。
    アナです。
    明日は友達と映画を見る予定です。
"""
LANGUAGES = {"German": GERMAN, "Spanish": SPANISH, "French": FRENCH, "Japanese": JAPANESE}


def sentences(name):
    return [line.strip() for line in LANGUAGES[name].strip().splitlines()]


@pytest.mark.parametrize("name", LANGUAGES)
def test_a_sentence_in_another_language_claims_nothing(name):
    assert len(sentences(name)) >= 60
    assert {text: found for text in sentences(name) if (found := extract(text))} == {}


@pytest.mark.parametrize("name", LANGUAGES)
@pytest.mark.parametrize("between", ["\n", " "])
@pytest.mark.parametrize("speaker", [None, "Anna"])
def test_neither_do_all_of_them_together(name, between, speaker):
    assert extract(between.join(sentences(name)), speaker=speaker) == []


@pytest.mark.parametrize("name", LANGUAGES)
def test_an_english_sentence_among_them_is_still_read(name):
    text = "\n".join([*sentences(name)[:10], "I live in Lisbon.", *sentences(name)[10:]])
    assert [(claim.predicate, claim.value) for claim in extract(text)] == [("lives_in", "Lisbon")]


TABLE = "| name | joined | budget |\n|---|---|---|\n| I joined a gym | I went camping | my budget is $0 |\n"
CODE = "```python\ndef run():\n    # I joined a gym last week, my budget is $0\n    return 'I live in Rome'\n```"
MAIL = "Begin forwarded message:\nFrom: Bob\nI joined a gym last week and I live in Rome.\n"


def test_a_table_claims_nothing():
    assert extract(TABLE) == []


@pytest.mark.parametrize("text", [CODE, MAIL])
def test_code_and_mail_are_nobody_s_own_words(text):
    assert not any(claim.first_person for claim in extract(text))


def test_ten_thousand_claims_in_a_document_are_read_up_to_the_bound():
    text = " ".join(f"My budget is ${amount}. I joined club {amount} last week." for amount in range(1, 5001))
    assert len(extract(text)) == 200
