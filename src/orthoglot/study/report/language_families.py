"""The family of each language, after Glottolog: Indo-European and Afro-Asiatic by branch, all others whole.

Creoles and constructed languages are groups of their own.
"""

from __future__ import annotations

_TABLE = {
    "Germanic": "af ang da de en fo fy gsw is lb li nb nds nl nn no sco sv swg vls yi",
    "Romance": "an ast ca co es fr fur gl it la lij lmo oc pms pt rm ro sc scn vec wa",
    "Slavic": "be bg bs cs csb cu dsb hr hsb mk orv pl ru sh sk sl sr szl uk",
    "Baltic": "lt ltg lv",
    "Celtic": "br cy ga gd gv kw",
    "Greek": "el grc",
    "Armenian": "hy",
    "Albanian": "sq",
    "Indo-Aryan": "as awa bh bho bn dv gu hi hne ks mag mai mr ne or pa rmn sa sd si ur",
    "Iranian": "ckb fa ku os prs ps tg",
    "Semitic": "aeb ajp arq acm acq am apc ar ars ary arz he mt syr ti",
    "Berber": "ber kab shi taq tzm zgh",
    "Cushitic": "aa om so",
    "Chadic": "ha",
    "Egyptian": "cop",
    "Omotic": "wal",
    "Uralic": "et fi hu se udm mhr",
    "Turkic": "az azb ba crh cv kk ky sah tk tr tt ug uz",
    "Mongolic": "mn",
    "Kartvelian": "ka xmf",
    "Abkhaz-Adyge": "ab",
    "Nakh-Daghestanian": "av ce",
    "Dravidian": "kn ml ta te",
    "Sino-Tibetan": "bo dz hlt kac lus lzh mni my wuu yue zh",
    "Tai-Kadai": "lo shn th za",
    "Austroasiatic": "km sat vi",
    "Hmong-Mien": "hmn",
    "Austronesian": """
        ace ban bbc bjn bug ceb ch dtp fj haw id ilo jv kos kzj mad max mg mh mi min ms na nij pag pam pon ppk sm su tet
        tl to ty war
        """,
    "Niger-Congo": """
        ak bbj bem dop ee ff fon fuv ig kam kbp kg ki kmb ln lg lua mos nso ny rn rw sn ss st sw tn ts tum tw umb wo
        xh yo zu
        """,
    "Mande": "bm dyu",
    "Nilotic": "din luo nus",
    "Saharan": "kr",
    "Japonic": "ja",
    "Koreanic": "ko",
    "Basque": "eu",
    "Eskimo-Aleut": "kl",
    "Iroquoian": "chr",
    "Algic": "ojb",
    "Uto-Aztecan": "hch nah nhe nhg tar",
    "Otomanguean": "amu chq oto",
    "Mayan": "cak jac mam quc usp",
    "Chibchan": "bzd cjp",
    "Quechuan": "qu quw",
    "Aymaran": "ay",
    "Tupian": "gn",
    "Arawakan": "cni",
    "Panoan": "shp ",
    "Chicham": "acu agr jiv",
    "Cariban": "ake",
    "Tucanoan": "bsn",
    "North Halmahera": "gbi",
    "Camsá": "kbh",
    "Creole": "bi cbk djk ht kea pap pcm sg tpi",
    "constructed": " eo ia ie io jbo lfn nov tzl vo",
}
_FAMILIES = {code: name for name, codes in _TABLE.items() for code in codes.split()}


def family(code: str) -> str:
    """The family of a language by its code of this project; "other" for an invented or unknown one."""
    return _FAMILIES.get(code, "other")
