"""What training wants: named loss terms, one paper per file.

`TERMS` maps a term's name to "module:attribute" of this room, so that names can be checked without
loading PyTorch; `orthoglot.objectives.base.Objective` resolves them.
"""

TERMS: dict[str, str] = {
    "dream.reconstruction": "dream:reconstruction",
    "dream.meaning": "dream:meaning",
    "dream.language": "dream:language",
    "dream.identification": "dream:Identification",
    "meat.reconstruction": "meat:reconstruction",
    "meat.cross_reconstruction": "meat:cross_reconstruction",
    "meat.language": "meat:language",
    "meat.adversarial": "meat:Adversarial",
    "oracle.intra_class": "oracle:intra_class",
    "oracle.intra_class_all": "oracle:intra_class_all",
    "oracle.intra_class_released": "oracle:intra_class_released",
    "oracle.inter_class": "oracle:inter_class",
    "oracle.inter_class_released": "oracle:inter_class_released",
    "oracle.inter_class_abs": "oracle:inter_class_abs",
    "oracle.inter_class_main": "oracle:inter_class_main",
    "oracle.inter_class_old": "oracle:inter_class_old",
    "oracle.alignment": "oracle:alignment",
    "seed.meaning": "seed:meaning",
    "seed.language": "seed:language",
    "seed.separation": "seed:separation",
    "seed.language_swap": "seed:language_swap",
    "seed.meaning_swap": "seed:meaning_swap",
}
