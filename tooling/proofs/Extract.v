(** Extract the checker to OCaml. Numbers stay Coq's own binary numbers, so that nothing about them is assumed; only
    booleans, options, pairs and lists become OCaml's (ExtrOcamlBasic). *)

From Coq Require Import Extraction ExtrOcamlBasic.
From Tagloom Require Import Model Delivery Check.

Extraction Language OCaml.
Extraction "checker.ml" check_wave check_change check_still well_formed floods_to bound_at floods_all closed broadcasts_fit hosts configs config_of topology answer
  put look nothing off tag_key.
