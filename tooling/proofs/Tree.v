(** Theorem (c): a broadcast in a VLAN whose member links form a tree reaches each host of the VLAN exactly once, and
    never returns to its sender. *)

From Coq Require Import List NArith Arith Bool Lia.
From Tagloom Require Import Model Runs Account Delivery.
Import ListNotations.

(** * Trees of cables *)

(** A cable: its two ends. A tree is one switch, or a tree and one more switch with a cable to a switch of the tree. *)
Definition Cable := (Chan * Chan)%type.

Inductive tree (T : Topology) : list Switch -> list Cable -> Prop :=
| One s : tree T [s] []
| Leaf vs es s q s' p' :
    tree T vs es -> In s vs -> ~ In s' vs -> peer T s q = Link s' p' -> peer T s' p' = Link s q ->
    tree T (s' :: vs) (((s, q), (s', p')) :: es).

(** At which ports a VLAN may be left: enabled, flooding members of it. *)
Definition leaves_by (T : Topology) (c : Config) (s : Switch) (v : Vlan) (q : Port) : Prop :=
  In q (ports T s) /\ enabled c q = true /\ floods c q = true /\ member c v q <> None.

(** VLAN [v] is a tree over the switches [vs]. Its ports with a link are those of the cables [es] of a tree; frames keep
    the VLAN there; no entry for the broadcast address narrows it. *)
Definition vlan_tree (T : Topology) (W : Wave) (v : Vlan) (vs : list Switch) (es : list Cable) : Prop :=
  tree T vs es /\
  (forall s, In s vs -> NoDup (ports T s) /\ entry (before W s) v Broadcast = None) /\
  (forall s q s' p', In s vs -> leaves_by T (before W s) s v q -> peer T s q = Link s' p' ->
     In ((s, q), (s', p')) es \/ In ((s', p'), (s, q)) es) /\
  (forall s q c, In ((s, q), c) es \/ In (c, (s, q)) es ->
     leaves_by T (before W s) s v q /\ member (before W s) v q = Some Tagged /\
     classify (before W s) q (Some v) = Some v).

(** Host [b] is at port [p] of switch [s], the only one that leads to it, and hears VLAN [v] there. *)
Definition hears (T : Topology) (W : Wave) (v : Vlan) (s : Switch) (p : Port) (b : Host) : Prop :=
  peer T s p = HostPort b /\ (forall s' p', peer T s' p' = HostPort b -> s' = s /\ p' = p) /\
  leaves_by T (before W s) s v p /\ member (before W s) v p = Some Untagged.

(** In a tree each switch has, for each other one, one port that leads there, and each cable lies on the way there from
    one of its two ends. *)
Definition leads_by (next : Switch -> Switch -> option Port) (u : Switch) (e : Chan) : Prop :=
  next u (fst e) = Some (snd e).

Lemma tree_ends T vs es : tree T vs es -> forall s q s' p', In ((s, q), (s', p')) es ->
  In s vs /\ In s' vs /\ s <> s' /\ peer T s q = Link s' p' /\ peer T s' p' = Link s q.
Proof.
  induction 1 as [|vs es s q s' p' Tr IH I N P P']; [easy|].
  intros a x b y [[= <- <- <- <-]|H].
  - repeat split; cbn; auto. now intros ->.
  - apply IH in H. cbn. tauto.
Qed.

Lemma tree_ways T vs es : tree T vs es -> exists next : Switch -> Switch -> option Port,
  (forall u, In u vs -> next u u = None) /\
  (forall u s, In u vs -> In s vs -> s <> u ->
     exists q c, next u s = Some q /\ (In ((s, q), c) es \/ In (c, (s, q)) es)) /\
  (forall u a b, In u vs -> In (a, b) es -> leads_by next u a <-> ~ leads_by next u b).
Proof.
  induction 1 as [s|vs es s q s' p' Tr (next & Self & Way & Side) I N P P'].
  - exists (fun _ _ => None). repeat split; cbn; try easy. intros u s' [<-|[]] [<-|[]]; easy.
  - pose proof (tree_ends _ _ _ Tr) as Ends.
    assert (forall x c, ~ (In ((s, q), (x, c)) es \/ In ((x, c), (s, q)) es)) as Fresh.
    { intros x c [H|H]; apply Ends in H; destruct H as (? & ? & _ & H1 & H2); congruence. }
    exists (fun u a =>
      if N.eqb u s' then if N.eqb a s' then None else if N.eqb a s then Some q else next s a
      else if N.eqb a s' then Some p' else next u a).
    assert (forall a, In a vs -> a <> s') as Old by (now intros a Ha ->).
    assert (forall a, In a vs -> N.eqb a s' = false) as Oldb by (intros a Ha; apply N.eqb_neq; auto).
    unfold leads_by. split; [|split].
    + intros u [<-|Hu]; [now rewrite N.eqb_refl|]. rewrite Oldb by easy. auto.
    + intros u a [<-|Hu] [<-|Ha] Ne; try easy.
      * rewrite N.eqb_refl, Oldb by easy. destruct (N.eqb_spec a s) as [->|Na].
        -- exists q, (s', p'). split; [easy|]. left. now left.
        -- destruct (Way s a I Ha Na) as (x & c & Hx & [Hc|Hc]); exists x, c; cbn; auto.
      * rewrite (Oldb u) by easy. rewrite N.eqb_refl. exists p', (s, q). cbn. auto.
      * rewrite (Oldb u), (Oldb a) by easy. destruct (Way u a Hu Ha Ne) as (x & c & Hx & [Hc|Hc]); exists x, c; cbn; auto.
    + intros u (x, y) (x', y') [<-|Hu] [[= <- <- <- <-]|H]; cbn.
      * rewrite N.eqb_refl, (Oldb s), N.eqb_refl by easy. easy.
      * destruct (Ends _ _ _ _ H) as (Hx & Hx' & Ne & _).
        rewrite N.eqb_refl, (Oldb x), (Oldb x') by easy.
        pose proof (Side s (x, y) (x', y') I H) as Sd. unfold leads_by in Sd. cbn in Sd.
        destruct (N.eqb_spec x s) as [->|Nx].
        -- destruct (N.eqb_spec x' s) as [->|Nx']; [easy|]. rewrite Self in Sd by easy.
           assert (Some q <> Some y) as Nq. { intros [= <-]. eapply Fresh; eauto. }
           split; [easy|]. intros Nl. exfalso. destruct Sd as (_ & Sd). now specialize (Sd Nl).
        -- destruct (N.eqb_spec x' s) as [->|Nx']; [|easy]. rewrite Self in Sd by easy.
           assert (Some q <> Some y') as Nq. { intros [= <-]. eapply Fresh; eauto. }
           split; [easy|]. intros _. now apply Sd.
      * rewrite (Oldb u), (Oldb s), N.eqb_refl by easy. split; [|easy]. intros E. exfalso.
        destruct (N.eq_dec s u) as [->|Ne]; [rewrite Self in E by easy; easy|].
        destruct (Way u s Hu I Ne) as (q' & (x, c) & Eq & Hc). assert (q' = q) as -> by congruence.
        eapply Fresh; eauto.
      * destruct (Ends _ _ _ _ H) as (Hx & Hx' & _). rewrite (Oldb u), (Oldb x), (Oldb x') by easy.
        now apply (Side u (x, y) (x', y')).
Qed.

(** * Broadcasts *)

Lemma sum_one (l : list Port) (x : Port) (g : Port -> nat) : NoDup l -> In x l ->
  (forall q, In q l -> q <> x -> g q = 0) -> list_sum (map g l) = g x.
Proof.
  induction 1 as [|q l Nq Nd IH]; intros I Z; [easy|]. cbn [map]. rewrite sum_cons.
  destruct (N.eq_dec q x) as [->|Ne].
  - rewrite zero_sum; [lia|]. intros q I'. apply Z; [now right|]. now intros ->.
  - rewrite Z by (auto; now left). apply IH; [now destruct I|]. intros q' I'. apply Z. now right.
Qed.

Lemma values_flat v w (h : Port -> list Out) l :
  values v w (flat_map h l) = list_sum (map (fun q => values v w (h q)) l).
Proof.
  induction l as [|q l IH]; [easy|]. cbn [flat_map map]. rewrite sum_cons, <- IH.
  unfold values. now rewrite map_app, list_sum_app.
Qed.

Section Tree.
Context (T : Topology) (W : Wave) (S : Sending) (v : Vlan) (vs : list Switch) (es : list Cable) (f : Frame).
Hypothesis Still : still W.
Hypothesis Vlan : vlan_tree T W v vs es.
Hypothesis Dest : dest f = Broadcast.
(** The sender's ports are in the tree, and its frames are classified to the VLAN there. *)
Hypothesis Sender : forall s p t, peer T s p = HostPort (source f) -> S (source f) t Broadcast ->
  In s vs /\ classify (before W s) p t = Some v.

Theorem broadcast_on_tree_once x sb pb b : run T W S x -> In f (sent x) -> In sb vs -> hears T W v sb pb b ->
  if N.eqb b (source f) then times_heard x b f = 0
  else times_heard x b f <= 1 /\ (gone x f -> times_heard x b f = 1).
Proof.
  intros R I Ib (Pb & Ub & Lb & Mb).
  destruct Vlan as (Tr & At & Links & Cables).
  destruct (tree_ways _ _ _ Tr) as (next & Self & Way & Side).
  pose proof (tree_ends _ _ _ Tr) as Ends.
  set (toward := fun s => match next sb s with Some q => q | None => pb end).
  set (v_ := fun (c : Chan) (_ : Tag) => if N.eqb (toward (fst c)) (snd c) then 0 else 1).
  set (G := fun (c : Chan) (t : Tag) => In (fst c) vs /\ classify (before W (fst c)) (snd c) t = Some v).
  (* The port toward [b] is in the VLAN. *)
  assert (forall s, In s vs -> leaves_by T (before W s) s v (toward s) /\
    ((s = sb /\ toward s = pb) \/ exists q c, next sb s = Some q /\ toward s = q /\
      (In ((s, q), c) es \/ In (c, (s, q)) es))) as Toward.
  { intros s Hs. unfold toward. destruct (N.eq_dec s sb) as [->|Ne].
    - rewrite Self by easy. auto.
    - destruct (Way sb s Ib Hs Ne) as (q & c & E & Hc). rewrite E. split; [now apply (Cables s q c)|]. right. eauto. }
  assert (forall s p, In s vs ->
    values v_ (is b) (copies T (before W s) s p v (floods (before W s))) = if N.eqb (toward s) p then 0 else 1) as Step.
  { intros s p Hs. destruct (At s Hs) as (Nd & _). destruct (Toward s Hs) as (Lt & Wt).
    pose proof Lt as (It & Et & Ft & Mt).
    unfold copies. rewrite values_flat, (sum_one _ (toward s)); try easy.
    - rewrite Et, Ft. destruct (N.eqb (toward s) p); [easy|]. cbn.
      destruct Wt as [(-> & Eq)|(q & c & En & Eq & Hc)]; rewrite Eq.
      + rewrite Mb. unfold out_of. rewrite Pb. unfold values, is. cbn. now rewrite N.eqb_refl.
      + destruct (Cables s q c Hc) as (_ & -> & _). destruct c as (s', p').
        assert (peer T s q = Link s' p' /\ In s' vs /\ toward s' <> p') as (P & Hs' & Nt).
        { destruct Hc as [Hc|Hc]; destruct (Ends _ _ _ _ Hc) as (H1 & H2 & _ & P & P').
          - repeat split; auto. intros Et'. destruct (Toward s' H2) as (_ & [(-> & Eb)|(q' & c & En' & Eq' & _)]).
            + congruence.
            + apply (Side sb _ _ Ib Hc); unfold leads_by; cbn; congruence.
          - repeat split; auto. intros Et'. destruct (Toward s' H1) as (_ & [(-> & Eb)|(q' & c & En' & Eq' & _)]).
            + congruence.
            + assert (leads_by next sb (s', p')) as L by (unfold leads_by; cbn; congruence).
              apply (Side sb _ _ Ib Hc) in L. apply L. exact En. }
        unfold out_of. rewrite P. unfold values, v_. cbn [map value fst snd]. apply N.eqb_neq in Nt. now rewrite Nt.
    - intros q Iq Ne. destruct (negb (N.eqb q p) && enabled (before W s) q && floods (before W s) q) eqn:E; [|easy].
      rewrite !andb_true_iff in E. destruct E as ((_ & Eq) & Fq).
      destruct (member (before W s) v q) as [m|] eqn:Mq; [|easy].
      assert (leaves_by T (before W s) s v q) as Lq by (unfold leaves_by; now rewrite Mq).
      enough (forall t o, In o (out_of T s q t) -> value v_ (is b) o = 0) as Z.
      { unfold values. destruct m; apply zero_sum; eauto. }
      intros t o Ho. apply out_of_leads in Ho. destruct Ho as [(s' & p' & P & ->)|(h & P & _ & ->)]; cbn [value].
      + unfold v_. cbn [fst snd]. enough (toward s' = p') as -> by now rewrite N.eqb_refl.
        assert (forall n, next sb s = Some n -> n <> q) as Nn. { intros n Hn ->. apply Ne. unfold toward. now rewrite Hn. }
        assert (next sb s' = Some p') as En; [|unfold toward; now rewrite En].
        destruct (Links s q s' p' Hs Lq P) as [Hc|Hc].
        * pose proof (Side sb _ _ Ib Hc) as (S1 & S2).
          destruct (next sb s') as [n|] eqn:En'; [destruct (N.eq_dec n p') as [->|]; [easy|]|];
            exfalso; apply (Nn q); try easy; apply S2; unfold leads_by; cbn; congruence.
        * apply (Side sb _ _ Ib Hc). unfold leads_by. cbn. intros En. now apply (Nn q).
      + unfold is. destruct (N.eqb_spec h b) as [->|]; [|easy].
        destruct (Ub s q P) as (-> & ->). exfalso. apply Ne. unfold toward. now rewrite Self by easy. }
  assert (exists s p t, peer T s p = HostPort (source f) /\ S (source f) t Broadcast /\
    total f v_ (is b) x = v_ (s, p) t) as (s & p & t & P & Se & E).
  { destruct (account T W S f G v_ (is b) eq) with (x := x) as (s & p & t & P & Se & E); try easy; try congruence.
    - intros s p t P Se. rewrite Dest in Se. now apply Sender.
    - intros s p t n outs (Hs & C) _ Ln D. cbn in Hs, C. rewrite Dest in D.
      rewrite held_still in D by easy. apply broadcast_decision in D. subst outs.
      unfold floods_to. rewrite C. destruct (At s Hs) as (_ & ->). split; [|now apply Step].
      intros c' t' Io. apply copies_in in Io. destruct Io as (q & m & Iq & Nq & Eq & Fq & Mq & Io).
      apply out_of_leads in Io. destruct Io as [(s' & p' & P & [= -> ->])|(h & _ & _ & [=])].
      assert (leaves_by T (before W s) s v q) as Lq by (unfold leaves_by; now rewrite Mq).
      destruct (Links s q s' p' Hs Lq P) as [Hc|Hc]; pose proof (Ends _ _ _ _ Hc) as (H1 & H2 & _).
      + destruct (Cables s q (s', p') (or_introl Hc)) as (_ & M1 & _).
        destruct (Cables s' p' (s, q) (or_intror Hc)) as (_ & _ & Cl).
        rewrite Mq in M1. injection M1 as ->. now split.
      + destruct (Cables s q (s', p') (or_intror Hc)) as (_ & M1 & _).
        destruct (Cables s' p' (s, q) (or_introl Hc)) as (_ & _ & Cl).
        rewrite Mq in M1. injection M1 as ->. now split.
    - rewrite Dest in Se. eauto 6. }
  destruct (Sender s p t P Se) as (Hs & _). unfold v_ in E at 2. cbn [fst snd] in E.
  destruct (N.eqb_spec b (source f)) as [->|Nb].
  - destruct (Ub s p P) as (-> & ->).
    assert (toward sb = pb) as Et by (unfold toward; now rewrite Self).
    rewrite Et, N.eqb_refl in E. pose proof (heard_at_most f (source f) x v_). lia.
  - destruct (N.eqb_spec (toward s) p) as [Et|_].
    + exfalso. destruct (Toward s Hs) as (_ & [(-> & Eq)|(q & (s', p') & En & Eq & Hc)]).
      * congruence.
      * destruct Hc as [Hc|Hc]; destruct (Ends _ _ _ _ Hc) as (_ & _ & _ & P1 & P2); congruence.
    + split; [rewrite <- E; apply heard_at_most|]. intros Go. rewrite <- E. symmetry. now apply heard_counts.
Qed.

End Tree.
