(** What holds in every state of every run, whatever the configurations are. *)

From Coq Require Import List NArith Arith Bool Lia.
From Tagloom Require Import Model.
Import ListNotations.

Lemma Chan_eqb_spec a b : Chan_eqb a b = true <-> a = b.
Proof.
  destruct a, b; unfold Chan_eqb; cbn.
  rewrite andb_true_iff, !N.eqb_eq. split; [intros [-> ->]; easy | intros [= -> ->]; easy].
Qed.

Lemma Chan_eq_dec (a b : Chan) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.

Lemma mem_spec q l : mem q l = true <-> In q l.
Proof.
  unfold mem. rewrite existsb_exists. split.
  - intros (x & ? & E). apply N.eqb_eq in E. now subst.
  - intros. exists q. split; auto. apply N.eqb_refl.
Qed.

(** A switch always decides something. *)
Lemma decides_something T c s p t d : exists outs, decides T c s p t d outs.
Proof.
  destruct (classify c p t) as [v|] eqn:E; [|eexists; now apply Dropped].
  destruct (entry c v d) as [qs|] eqn:F; eexists; [eapply Pinned | eapply Flooded]; eauto.
Qed.

Lemma out_of_short T s q t : length (out_of T s q t) <= 1.
Proof. unfold out_of. destruct (peer T s q), t; cbn; lia. Qed.

Lemma copies_short T c s p v allowed : length (copies T c s p v allowed) <= length (ports T s).
Proof.
  unfold copies. induction (ports T s) as [|q l IH]; cbn; [lia|].
  rewrite app_length.
  assert (length (if negb (N.eqb q p) && enabled c q && allowed q
    then match member c v q with
         | Some Tagged => out_of T s q (Some v) | Some Untagged => out_of T s q None | None => [] end
    else []) <= 1); [|lia].
  destruct (_ && _); [|cbn; lia].
  destruct (member c v q) as [[]|]; try apply out_of_short. cbn; lia.
Qed.

Lemma decides_few T c s p t d outs : decides T c s p t d outs -> length outs <= length (ports T s).
Proof. destruct 1; try apply copies_short. cbn; lia. Qed.

Lemma out_of_leads T s q t o : In o (out_of T s q t) ->
  (exists s' p', peer T s q = Link s' p' /\ o = Onto (s', p') t) \/
  (exists h, peer T s q = HostPort h /\ t = None /\ o = Into h).
Proof.
  unfold out_of. destruct (peer T s q), t; cbn; intros H; try easy; destruct H as [<-|[]]; eauto 6.
Qed.

Lemma copies_in T c s p v allowed o : In o (copies T c s p v allowed) <->
  exists q m, In q (ports T s) /\ q <> p /\ enabled c q = true /\ allowed q = true /\ member c v q = Some m /\
    In o (out_of T s q (match m with Tagged => Some v | Untagged => None end)).
Proof.
  unfold copies. rewrite in_flat_map. split.
  - intros (q & Hq & H). exists q.
    destruct (_ && _) eqn:E; [|easy].
    rewrite !andb_true_iff, negb_true_iff, N.eqb_neq in E. destruct E as [[? ?] ?].
    destruct (member c v q) as [m|]; [|easy]. exists m. destruct m; auto 10.
  - intros (q & m & Hq & Hp & He & Ha & Hm & Ho). exists q. split; auto.
    apply N.eqb_neq in Hp. rewrite Hp, He, Ha, Hm. now destruct m.
Qed.

Section Runs.
Context (T : Topology) (W : Wave) (S : Sending).

Lemma decides_wired c s p t d outs c' t' :
  well_wired T -> decides T c s p t d outs -> In (Onto c' t') outs -> In c' (wired T).
Proof.
  intros (_ & H & _) D I.
  assert (exists v allowed, In (Onto c' t') (copies T c s p v allowed)) as (v & allowed & J).
  { destruct D; [easy| | | ]; eauto. }
  apply copies_in in J. destruct J as (q & m & _ & _ & _ & _ & _ & J).
  apply out_of_leads in J. destruct J as [(s' & p' & P & [= -> ->])|(h & _ & _ & [=])]. eauto.
Qed.

Lemma may_wired c t d : well_wired T -> may T W S c t d -> In c (wired T).
Proof.
  intros wired M. destruct M as [s p h t d P _|s p t d n outs c t' _ _ D I].
  - destruct wired as (H & _). eauto.
  - eapply decides_wired; eauto.
Qed.

Fixpoint chained (l : list Chan) : Prop :=
  match l with
  | a :: (b :: _) as r => depends T W S b a /\ chained r
  | _ => True
  end.

(** What is true of each packet. *)
Definition fits (k : Packet) : Prop :=
  may T W S (at_ k) (tag k) (dest (frame k)) /\
  (exists r, path k = at_ k :: r) /\ chained (path k) /\
  (forall l c t, todo k = Some l -> In (Onto c t) l -> depends T W S (at_ k) c /\ may T W S c t (dest (frame k))).

Definition fine (x : State) : Prop :=
  (forall s, position x s <= length (lines W s)) /\
  (forall k, In k (flying x) -> fits k /\ In (frame k) (sent x)).

Lemma fits_fewer k l l' : fits k -> todo k = Some l -> incl l' l -> fits (with_todo k l').
Proof.
  intros (A & B & C & D) E I. repeat split; auto; cbn in *.
  - injection H as <-. eapply D; eauto.
  - injection H as <-. eapply D; eauto.
Qed.

Lemma move_from a k b x y : move T W a k b x y -> flying x = a ++ k :: b.
Proof. now destruct 1. Qed.

Lemma move_fine x y : fine x -> moves T W x y -> fine y.
Proof.
  intros (P & F) (a & k & b & M).
  assert (forall k', In k' a \/ In k' b -> fits k' /\ In (frame k') (sent x)) as others.
  { intros k' H. apply F. rewrite (move_from _ _ _ _ _ M). apply in_app_iff. cbn. tauto. }
  assert (fits k /\ In (frame k) (sent x)) as (Fk & Sk).
  { apply F. rewrite (move_from _ _ _ _ _ M). apply in_elt. }
  assert (forall k' z, In k' (a ++ z :: b) -> k' = z \/ fits k' /\ In (frame k') (sent x)) as split_.
  { intros k' z H. rewrite in_app_iff in H. cbn in H. destruct H as [|[|]]; auto. }
  pose proof Fk as (A & B & C & D).
  revert P F others Sk split_.
  destruct M as [pos se he outs N De|pos se he l1 l2 c t N R|pos se he l1 l2 h N|pos se he N];
    cbn; intros P F others Sk split_.
  - split; [exact P|]. cbn. intros k' H. apply split_ in H. destruct H as [->|]; auto. split; [|exact Sk].
    repeat split; auto; cbn in *; injection H as <-.
    + exists (tag k), (dest (frame k)), (pos (fst (at_ k))), outs, t. auto.
    + destruct (at_ k) as (s, p). eapply May_hop with (outs := outs); eauto.
  - split; [exact P|]. cbn. intros k' H. rewrite in_app_iff in H. destruct H as [H|[<-|[]]].
    + apply split_ in H. destruct H as [->|]; auto. split; [|exact Sk].
      eapply fits_fewer; eauto. intros o Ho. apply in_app_iff in Ho. apply in_app_iff. cbn. tauto.
    + split; [|exact Sk].
      destruct (D _ c t N) as (De & Ma); [apply in_elt|].
      destruct B as (r & B). repeat split; cbn; eauto; try easy. now rewrite B in *.
  - split; [exact P|]. cbn. intros k' H. apply split_ in H. destruct H as [->|]; auto. split; [|exact Sk].
    eapply fits_fewer; eauto. intros o Ho. apply in_app_iff in Ho. apply in_app_iff. cbn. tauto.
  - split; [exact P|]. cbn. intros k' H. apply others. now rewrite in_app_iff in H.
Qed.

Lemma edits_fine x y : fine x -> edits W x y -> fine y.
Proof.
  intros F E. revert F. destruct E as [pos pos' se fl he s L O]. intros (P & F). split; [|exact F]. cbn in *.
  intros s'. destruct (N.eq_dec s' s) as [->|N]; auto. now rewrite O.
Qed.

Lemma run_fine x : run T W S x -> fine x.
Proof.
  induction 1 as [|x y _ IH St].
  - split; cbn; [lia|easy].
  - destruct St as [x y M|pos se fl he s p t f P Se N R|x y E].
    + eapply move_fine; eauto.
    + destruct IH as (Po & F). split; [exact Po|]. cbn in *. intros k H. apply in_app_iff in H.
      destruct H as [H|[<-|[]]].
      * destruct (F k H). auto.
      * split; [|cbn; auto]. repeat split; cbn; eauto; try easy. eapply May_send; eauto.
    + eapply edits_fine; eauto.
Qed.

Lemma after_fine m x y : fine x -> after T W m x y -> fine y.
Proof.
  intros F A. revert F. induction A as [x|m x y z A IH M|m x y z A IH E]; intros F.
  - exact F.
  - exact (move_fine y z (IH F) M).
  - exact (edits_fine y z (IH F) E).
Qed.

End Runs.
