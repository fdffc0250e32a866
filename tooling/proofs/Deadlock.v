(** Theorem (a): where every dependency of channels rises, nothing deadlocks, and no frame goes round. *)

From Coq Require Import List NArith Arith Bool Lia.
From Tagloom Require Import Model Runs Account.
Import ListNotations.

Section Highest.
Context (rank : Chan -> nat).

(** The packets of a list that is not empty have a highest channel, and its buffer has a first packet. *)
Lemma highest (l : list Packet) : l <> [] -> exists k, In k l /\ forall k', In k' l -> rank (at_ k') <= rank (at_ k).
Proof.
  induction l as [|k l IH]; [easy|]. intros _. destruct l as [|k1 l].
  - exists k. split; [now left|]. intros k' [<-|[]]. lia.
  - destruct IH as (m & Hm & IH); [easy|].
    destruct (le_lt_dec (rank (at_ k)) (rank (at_ m))).
    + exists m. split; [now right|]. intros k' [<-|H]; auto.
    + exists k. split; [now left|]. intros k' [<-|H]; [lia|]. apply IH in H. lia.
Qed.

Lemma first_in c (l : list Packet) : (exists k, In k l /\ at_ k = c) ->
  exists a k b, l = a ++ k :: b /\ at_ k = c /\ forall k', In k' a -> at_ k' <> c.
Proof.
  induction l as [|k l IH]; intros (k0 & H & E); [easy|].
  destruct (Chan_eq_dec (at_ k) c) as [Y|N].
  - exists [], k, l. easy.
  - destruct IH as (a & k1 & b & -> & ? & ?). { destruct H as [<-|H]; [easy|eauto]. }
    exists (k :: a), k1, b. repeat split; auto. intros k' [<-|]; auto.
Qed.

Lemma nobody_there l c : (forall k, In k l -> at_ k <> c) -> load l c = 0.
Proof.
  unfold load. induction l as [|k l IH]; intros H; [easy|]. cbn.
  destruct (Chan_eqb (at_ k) c) eqn:E.
  - apply Chan_eqb_spec in E. exfalso. apply (H k); [now left|easy].
  - apply IH. intros k' I. apply H. now right.
Qed.

End Highest.

Section Deadlock.
Context (T : Topology) (W : Wave) (S : Sending) (rank : Chan -> nat).
Hypothesis Wired : well_wired T.
Hypothesis Rises : rises T W S rank.

Lemma fine_moves x : fine T W S x -> flying x <> [] ->
  exists a k b y, move T W a k b x y /\ first_of_buffer a k.
Proof.
  intros (_ & F) N.
  destruct (highest rank _ N) as (top & It & Ht).
  destruct (first_in (at_ top) (flying x)) as (a & k & b & E & Ek & Ha); [eauto|].
  exists a, k, b.
  assert (In k (flying x)) as Ik by (rewrite E; apply in_elt).
  destruct (F k Ik) as (Fk & _). clear It.
  destruct x as [pos se fl he]; cbn in *. subst fl.
  assert (forall k', In k' a -> at_ k' <> at_ k) as First by (now rewrite Ek).
  destruct Fk as (_ & _ & _ & Next).
  destruct (todo k) as [[|[c t|h] l]|] eqn:D.
  - eexists. split; [eapply Leave; eauto|easy].
  - destruct (Next _ c t eq_refl) as (De & _); [now left|].
    apply Rises in De. eexists. split; [eapply Pass with (l1 := []); [eauto|]|easy].
    unfold has_room. rewrite nobody_there.
    + destruct Wired as (_ & _ & R). apply R.
    + intros k' I Ec. apply Ht in I. rewrite Ec in I. rewrite <- Ek in I. lia.
  - eexists. split; [eapply Deliver with (l1 := []); eauto|easy].
  - destruct (decides_something T (held W (fst (at_ k)) (pos (fst (at_ k)))) (fst (at_ k)) (snd (at_ k)) (tag k)
      (dest (frame k))) as (outs & De).
    eexists. split; [eapply Decide; eauto|easy].
Qed.

(** In every state of every run, if any frame is in the network, some frame can move: the first of some buffer. So no
    state is a deadlock, whether switches serve a buffer in order of arrival or not. *)
Theorem no_deadlock x : run T W S x -> flying x <> [] ->
  exists a k b y, move T W a k b x y /\ first_of_buffer a k.
Proof. intros R. apply fine_moves. eapply run_fine; eauto. Qed.

Theorem at_rest_is_empty x : run T W S x -> at_rest T W x -> flying x = [].
Proof.
  intros R A. destruct (flying x) as [|k l] eqn:E; [easy|].
  destruct (no_deadlock x R) as (a & k' & b & y & M & _). { now rewrite E. }
  exfalso. eapply A. do 3 eexists. eauto.
Qed.

(** No copy of a frame is twice on one channel. *)
Theorem no_loop x k : run T W S x -> In k (flying x) -> NoDup (path k).
Proof.
  intros R I. destruct (run_fine T W S x R) as (_ & F). destruct (F k I) as ((_ & _ & C & _) & _). clear - C Rises.
  assert (forall c l, chained T W S (c :: l) -> NoDup (c :: l) /\ forall c', In c' l -> rank c' < rank c) as H.
  { intros c l. revert c. induction l as [|b l IH]; intros c H.
    - split; [|easy]. constructor; [easy|constructor].
    - destruct H as (D & H). apply IH in H. destruct H as (N & H). apply Rises in D.
      assert (forall c', In c' (b :: l) -> rank c' < rank c) as L.
      { intros c' [<-|I]; [easy|]. apply H in I. lia. }
      split; [|exact L]. constructor; [|easy]. intros I. apply L in I. lia. }
  destruct (path k) as [|c l]; [constructor|]. now apply H.
Qed.

(** ** Every run of moves ends *)

Definition highest_rank : nat := list_max (map rank (wired T)).
Definition most_ports : nat := list_max (map (fun c => length (ports T (fst c))) (wired T)).

Fixpoint worth (n : nat) : nat :=
  match n with 0 => 2 + most_ports | Datatypes.S m => 2 + most_ports * (1 + worth m) end.

Definition above (c : Chan) : nat := highest_rank - rank c.

Definition worth_out (o : Out) : nat := match o with Onto c _ => 1 + worth (above c) | Into _ => 1 end.

Definition worth_packet (k : Packet) : nat :=
  match todo k with None => worth (above (at_ k)) | Some l => 1 + list_sum (map worth_out l) end.

Definition worth_all (l : list Packet) : nat := list_sum (map worth_packet l).

Lemma worth_grows n m : n <= m -> worth n <= worth m.
Proof.
  revert m. induction n as [|n IH]; intros m L; destruct m as [|m]; try lia.
  - cbn [worth]. destruct m; cbn [worth]; nia.
  - cbn [worth]. assert (worth n <= worth m) by (apply IH; lia). nia.
Qed.

Lemma in_list_max (l : list nat) n : In n l -> n <= list_max l.
Proof.
  intros I. assert (list_max l <= list_max l) as H by lia.
  apply list_max_le in H. rewrite Forall_forall in H. auto.
Qed.

Lemma rank_below c : In c (wired T) -> rank c <= highest_rank.
Proof. intros I. apply in_list_max. now apply in_map. Qed.

Lemma ports_below c : In c (wired T) -> length (ports T (fst c)) <= most_ports.
Proof. intros I. apply in_list_max. apply (in_map (fun c => length (ports T (fst c)))) in I. exact I. Qed.


Lemma sum_at_most (A : Type) (f : A -> nat) l n : (forall o, In o l -> f o <= n) -> list_sum (map f l) <= length l * n.
Proof.
  induction l as [|o l IH]; cbn; intros H; [lia|].
  assert (f o <= n) by (apply H; now left). assert (list_sum (map f l) <= length l * n) by (apply IH; auto). unfold list_sum in *. lia.
Qed.

Lemma move_lessens x y : fine T W S x -> moves T W x y -> worth_all (flying y) < worth_all (flying x).
Proof.
  intros F (a & k & b & M).
  assert (In k (flying x)) as I. { rewrite (move_from _ _ _ _ _ _ _ M). apply in_elt. }
  pose proof (proj1 (proj2 F k I)) as Fk. pose proof (proj1 F) as P. clear F.
  assert (forall z, worth_all (a ++ z :: b) = worth_all a + worth_packet z + worth_all b) as Sum.
  { intros z. unfold worth_all. rewrite map_app, list_sum_app. cbn [map]. rewrite sum_cons. lia. }
  revert I P. destruct M as [pos se he outs N De|pos se he l1 l2 c t N R|pos se he l1 l2 h N|pos se he N];
    cbn [flying position]; intros I P; rewrite ?Sum.
  - assert (worth_packet (with_todo k outs) < worth_packet k); [|lia].
    unfold worth_packet. cbn [with_todo todo]. rewrite N.
    pose proof Fk as (Ma & _). pose proof (may_wired _ _ _ _ _ _ Wired Ma) as Wk.
    pose proof (decides_few _ _ _ _ _ _ _ De) as Few. pose proof (ports_below _ Wk) as Pb.
    pose proof (rank_below _ Wk) as Rb.
    assert (forall c' t', In (Onto c' t') outs -> rank (at_ k) < rank c' <= highest_rank) as Up.
    { intros c' t' Io. split.
      - apply Rises. exists (tag k), (dest (frame k)), (pos (fst (at_ k))), outs, t'. auto.
      - apply rank_below. eapply decides_wired; eauto. }
    destruct (above (at_ k)) as [|n] eqn:A.
    + assert (list_sum (map worth_out outs) <= length outs * 1); [|cbn [worth]; lia].
      apply sum_at_most. intros [c' t'|h] Io; cbn; [|lia]. apply Up in Io. unfold above in A. lia.
    + assert (list_sum (map worth_out outs) <= length outs * (1 + worth n)); [|cbn [worth]; nia].
      apply sum_at_most. intros [c' t'|h] Io; cbn [worth_out]; [|lia].
      assert (worth (above c') <= worth n); [|lia]. apply worth_grows. apply Up in Io. unfold above in *. lia.
  - unfold worth_all at 1. rewrite map_app, list_sum_app. fold (worth_all (a ++ with_todo k (l1 ++ l2) :: b)). rewrite Sum.
    unfold worth_packet. cbn [with_todo todo arriving map list_sum at_]. rewrite N, !map_app, !list_sum_app.
    cbn [map]. rewrite !sum_cons. cbn [worth_out list_sum fold_right]. lia.
  - unfold worth_packet. cbn [with_todo todo]. rewrite N, !map_app, !list_sum_app.
    cbn [map]. rewrite sum_cons. cbn [worth_out]. lia.
  - unfold worth_all at 1. rewrite map_app, list_sum_app. fold (worth_all a) (worth_all b).
    unfold worth_packet. rewrite N. cbn. lia.
Qed.

(** If hosts stop to send, a bounded number of moves is left, in whatever order they happen, and whatever lines switches
    execute between them. With [at_rest_is_empty], every frame then leaves the network. *)
Theorem moves_end x : run T W S x -> exists most, forall m y, after T W m x y -> m <= most.
Proof.
  intros R. exists (worth_all (flying x)). intros m y A.
  enough (m + worth_all (flying y) <= worth_all (flying x)) by lia.
  pose proof (run_fine _ _ _ _ R) as F. clear R.
  induction A as [x|m x y z A IH M|m x y z A IH E].
  - lia.
  - specialize (IH F). assert (worth_all (flying z) < worth_all (flying y)); [|lia].
    apply move_lessens; [|easy]. eapply after_fine; eauto.
  - specialize (IH F). destruct E. exact IH.
Qed.

End Deadlock.
