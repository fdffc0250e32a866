(** Accounts of a frame: what its copies in the network and in hosts are worth together, over a whole run. *)

From Coq Require Import List NArith Arith Bool Lia.
From Tagloom Require Import Model Runs.
Import ListNotations.

Lemma sum_cons n l : list_sum (n :: l) = n + list_sum l.
Proof. reflexivity. Qed.

Lemma zero_sum (A : Type) (g : A -> nat) l : (forall a, In a l -> g a = 0) -> list_sum (map g l) = 0.
Proof.
  induction l as [|a l IH]; intros H; [easy|]. cbn [map]. rewrite sum_cons, H by now left.
  rewrite IH; [easy|]. intros a' I. apply H. now right.
Qed.

Section Heard.
Context (T : Topology) (W : Wave) (S : Sending).

Lemma heard_sent x : run T W S x -> forall h f, In (h, f) (heard x) -> In f (sent x).
Proof.
  induction 1 as [|x y R IH St]; [easy|].
  pose proof (run_fine _ _ _ _ R) as (_ & F). clear R. revert IH F.
  destruct St as [x y (a & k & b & M)|pos se fl he s p t f P Se N R|x y E].
  - destruct M; cbn; intros IH F h' f'; eauto.
    intros [[= <- <-]|]; eauto. apply F. apply in_elt.
  - cbn. intros IH F h' f' I. eauto.
  - now destruct E.
Qed.

End Heard.

Section Account.
Context (T : Topology) (W : Wave) (S : Sending) (f : Frame).

(** [G] holds where copies of [f] may be; [v] says what one there is worth, [w] what one in a host is worth. *)
Context (G : Chan -> Tag -> Prop) (v : Chan -> Tag -> nat) (w : Host -> nat) (R : nat -> nat -> Prop).

Definition value (o : Out) : nat := match o with Onto c t => v c t | Into h => w h end.
Definition values (l : list Out) : nat := list_sum (map value l).

Hypothesis R_refl : forall n, R n n.
Hypothesis R_trans : forall a b c, R a b -> R b c -> R a c.
Hypothesis R_plus : forall a b c, R a b -> R (a + c) (b + c).

Hypothesis G_start : forall s p t,
  peer T s p = HostPort (source f) -> S (source f) t (dest f) -> G (s, p) t.
Hypothesis G_step : forall s p t n outs,
  G (s, p) t -> may T W S (s, p) t (dest f) -> n <= length (lines W s) -> decides T (held W s n) s p t (dest f) outs ->
  (forall c' t', In (Onto c' t') outs -> G c' t') /\ R (values outs) (v (s, p) t).

Definition mine (k : Packet) : bool := if Frame_eq_dec (frame k) f then true else false.

Definition value_packet (k : Packet) : nat :=
  if mine k then match todo k with None => v (at_ k) (tag k) | Some l => values l end else 0.

Definition value_heard (e : Host * Frame) : nat := if Frame_eq_dec (snd e) f then w (fst e) else 0.

Definition total (x : State) : nat := list_sum (map value_packet (flying x)) + list_sum (map value_heard (heard x)).

Definition good (x : State) : Prop :=
  forall k, In k (flying x) -> frame k = f ->
    G (at_ k) (tag k) /\ forall l c t, todo k = Some l -> In (Onto c t) l -> G c t.

Lemma sum_around (a b : list Packet) z : list_sum (map value_packet (a ++ z :: b)) =
  list_sum (map value_packet a) + value_packet z + list_sum (map value_packet b).
Proof. rewrite map_app, list_sum_app. cbn [map]. rewrite sum_cons. lia. Qed.

Lemma values_without l1 o l2 : values (l1 ++ o :: l2) = value o + values (l1 ++ l2).
Proof. unfold values. rewrite !map_app, !list_sum_app. cbn [map]. rewrite sum_cons. lia. Qed.

Lemma move_account x y : fine T W S x -> good x -> moves T W x y -> good y /\ R (total y) (total x).
Proof.
  intros F Go (a & k & b & M).
  assert (In k (flying x)) as I. { rewrite (move_from _ _ _ _ _ _ _ M). apply in_elt. }
  pose proof (proj1 (proj2 F k I)) as (Ma & _). pose proof (proj1 F) as P. clear F.
  assert (forall k', In k' a \/ In k' b -> In k' (flying x)) as others.
  { intros k' H. rewrite (move_from _ _ _ _ _ _ _ M). apply in_app_iff. cbn. tauto. }
  assert (forall k' z, In k' (a ++ z :: b) -> k' = z \/ In k' (flying x)) as split_.
  { intros k' z H. apply in_app_iff in H. cbn in H. destruct H as [|[|]]; auto. }
  revert I P Go others split_.
  destruct M as [pos se he outs N De|pos se he l1 l2 c t N Ro|pos se he l1 l2 h N|pos se he N];
    cbn [flying position heard sent]; intros I P Go others split_; unfold good, total; cbn [flying heard];
    rewrite ?sum_around.
  - destruct (Frame_eq_dec (frame k) f) as [Y|Y].
    + destruct (Go k I Y) as (Gk & _). rewrite Y in Ma, De.
      destruct (at_ k) as (s, p) eqn:At.
      destruct (G_step s p (tag k) (pos s) outs Gk Ma (P s) De) as (Gn & V).
      split.
      * intros k' H Y'. apply split_ in H. destruct H as [->|H]; [|now apply Go]. cbn. rewrite At.
        split; [easy|]. intros l c' t' [= <-]. apply Gn.
      * assert (value_packet k = v (s, p) (tag k)) as ->.
        { unfold value_packet, mine. rewrite N, At. now destruct (Frame_eq_dec (frame k) f). }
        assert (value_packet (with_todo k outs) = values outs) as ->.
        { unfold value_packet, mine. cbn. now destruct (Frame_eq_dec (frame k) f). }
        match goal with |- R (?p + _ + ?q + ?r) _ => apply (R_plus _ _ (p + q + r)) in V end.
        match goal with |- R ?p ?q => match type of V with R ?p' ?q' =>
          replace p with p' by lia; replace q with q' by lia end end. exact V.
    + split.
      * intros k' H Y'. apply split_ in H. destruct H as [->|H]; [easy|now apply Go].
      * assert (value_packet (with_todo k outs) = value_packet k) as ->; [|apply R_refl].
        unfold value_packet, mine. cbn. now destruct (Frame_eq_dec (frame k) f).
  - split.
    + intros k' H Y. apply in_app_iff in H. destruct H as [H|[<-|[]]].
      * apply split_ in H. destruct H as [->|H]; [|now apply Go]. destruct (Go k I Y) as (Gk & Gn).
        cbn. split; [easy|]. intros l c' t' [= <-] Io. eapply Gn; eauto.
        apply in_app_iff in Io. apply in_app_iff. cbn. tauto.
      * destruct (Go k I Y) as (Gk & Gn). cbn. split; [|easy]. eapply Gn; [eauto|apply in_elt].
    + cbn [map]. change (list_sum []) with 0.
      match goal with |- R ?p ?q => replace p with q; [apply R_refl|] end.
      assert (value_packet k = value_packet (with_todo k (l1 ++ l2)) + value_packet (arriving k c t)); [|cbn; lia].
      unfold value_packet, mine. cbn [with_todo arriving frame todo at_ tag]. rewrite N.
      destruct (Frame_eq_dec (frame k) f); [|easy]. rewrite values_without. cbn [value]. lia.
  - split.
    + intros k' H Y. apply split_ in H. destruct H as [->|H]; [|now apply Go]. destruct (Go k I Y) as (Gk & Gn).
      cbn. split; [easy|]. intros l c' t' [= <-] Io. eapply Gn; eauto.
      apply in_app_iff in Io. apply in_app_iff. cbn. tauto.
    + cbn [map]. rewrite sum_cons.
      match goal with |- R ?p ?q => replace p with q; [apply R_refl|] end.
      assert (value_packet k = value_packet (with_todo k (l1 ++ l2)) + value_heard (h, frame k)); [|lia].
      unfold value_packet, value_heard, mine. cbn [with_todo frame todo fst snd]. rewrite N.
      destruct (Frame_eq_dec (frame k) f); [|easy]. rewrite values_without. cbn [value]. lia.
  - split.
    + intros k' H Y. apply Go; auto. apply others. now apply in_app_iff in H.
    + rewrite map_app, list_sum_app.
      match goal with |- R ?p ?q => replace p with q; [apply R_refl|] end.
      assert (value_packet k = 0); [|lia]. unfold value_packet. rewrite N. now destruct (mine k).
Qed.

(** In every state of a run, what the copies of [f] are worth is in relation [R] to what it was worth when it was sent. *)
Lemma account x : run T W S x -> In f (sent x) ->
  exists s p t, peer T s p = HostPort (source f) /\ S (source f) t (dest f) /\ R (total x) (v (s, p) t).
Proof.
  intros Rx. cut (good x /\ (In f (sent x) -> exists s p t,
    peer T s p = HostPort (source f) /\ S (source f) t (dest f) /\ R (total x) (v (s, p) t))); [tauto|].
  induction Rx as [|x y Rx (Go & IH) St]; [split; [easy|cbn; tauto]|].
  pose proof (run_fine _ _ _ _ Rx) as F. pose proof (heard_sent _ _ _ _ Rx) as H. clear Rx. revert Go IH F H.
  destruct St as [x y M|pos se fl he s p t f' P Se N Ro|x y E]; intros Go IH F H.
  - destruct (move_account x y F Go M) as (Gy & V). split; [easy|]. intros I.
    assert (sent y = sent x) as Ey by now destruct M as (a & k & b & []).
    rewrite Ey in I.
    destruct (IH I) as (s & p & t & ? & ? & ?). exists s, p, t. eauto.
  - cbn in *. destruct (Frame_eq_dec f' f) as [->|Nf].
    + split.
      * intros k I Y. cbn in I. apply in_app_iff in I. destruct I as [I|[<-|[]]]; [now apply Go|].
        cbn. split; [|easy]. now apply G_start.
      * intros _. exists s, p, t. repeat split; auto.
        unfold total. cbn [flying heard]. rewrite map_app, list_sum_app. cbn [map]. rewrite sum_cons.
        rewrite zero_sum, (zero_sum _ value_heard).
        -- unfold value_packet, mine. cbn. destruct (Frame_eq_dec f f); [|easy].
           replace (v (s, p) t + 0 + 0) with (v (s, p) t) by lia. apply R_refl.
        -- intros (h, f') I. unfold value_heard. cbn. destruct (Frame_eq_dec f' f) as [->|]; [|easy].
           exfalso. apply N. eapply H. eauto.
        -- intros k I. unfold value_packet, mine. destruct (Frame_eq_dec (frame k) f) as [E|]; [|easy].
           exfalso. apply N. rewrite <- E. now apply (proj2 F).
    + split.
      * intros k I Y. cbn in I. apply in_app_iff in I. destruct I as [I|[<-|[]]]; [now apply Go|easy].
      * intros [|I]; [easy|]. destruct (IH I) as (s' & p' & t' & ? & ? & V). exists s', p', t'. repeat split; auto.
        unfold total in *. cbn [flying heard] in *. rewrite map_app, list_sum_app. cbn [map]. rewrite sum_cons.
        unfold value_packet at 2. unfold mine. cbn [frame]. destruct (Frame_eq_dec f' f); [easy|]. cbn [list_sum fold_right].
        rewrite Nat.add_0_r. exact V.
  - destruct E. split; [exact Go|exact IH].
Qed.

End Account.

(** No copy of [f] is in the network. *)
Definition gone (x : State) (f : Frame) : Prop := forall k, In k (flying x) -> frame k <> f.

Definition is (b h : Host) : nat := if N.eqb h b then 1 else 0.

Lemma heard_counts f b x v : gone x f -> total f v (is b) x = times_heard x b f.
Proof.
  intros Go. unfold total. rewrite zero_sum.
  - unfold times_heard. cbn. induction (heard x) as [|(h, f') l IH]; [easy|].
    cbn [map filter fst snd]. rewrite sum_cons, IH. unfold value_heard, is. cbn.
    destruct (Frame_eq_dec f' f), (N.eqb h b); cbn; lia.
  - intros k I. apply Go in I. unfold value_packet, mine. now destruct (Frame_eq_dec (frame k) f).
Qed.

Lemma heard_at_most f b x v : times_heard x b f <= total f v (is b) x.
Proof.
  unfold total, times_heard. induction (heard x) as [|(h, f') l IH]; [cbn; lia|].
  cbn [map filter fst snd]. rewrite sum_cons. unfold value_heard, is in *. cbn in *.
  destruct (Frame_eq_dec f' f), (N.eqb h b); cbn; lia.
Qed.
