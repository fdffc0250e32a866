(** Theorems (b) and (c): frames pinned by static entries are delivered exactly once, to the right host; a broadcast in
    a VLAN that is a tree reaches each host exactly once.

    All say what holds once no copy of the frame is in the network. By theorem (a), where dependencies rise, that moment
    comes when hosts pause: a bounded number of moves is left, and nothing can move only if the network is empty. *)

From Coq Require Import List NArith Arith Bool Lia.
From Tagloom Require Import Model Runs Account.
Import ListNotations.

(** * (b) One static egress at each hop *)

(** At every frame state of unicasts to [d] and at every position of the switch there, a static entry sends the frame out
    of exactly one port: onto a channel, or, untagged, into [d]. *)
Definition one_way (T : Topology) (W : Wave) (S : Sending) (d : Host) : Prop :=
  forall s p t n, may T W S (s, p) t (To d) -> n <= length (lines W s) ->
  exists v qs o,
    classify (held W s n) p t = Some v /\ entry (held W s n) v (To d) = Some qs /\
    copies T (held W s n) s p v (fun q => mem q qs) = [o] /\ match o with Onto _ _ => True | Into h => h = d end.

Section Unicast.
Context (T : Topology) (W : Wave) (S : Sending) (f : Frame) (d : Host).
Hypothesis Dest : dest f = To d.
Hypothesis One : one_way T W S d.

Lemma one_decision s p t n outs : may T W S (s, p) t (To d) -> n <= length (lines W s) ->
  decides T (held W s n) s p t (To d) outs ->
  exists o, outs = [o] /\ match o with Onto _ _ => True | Into h => h = d end.
Proof.
  intros M L D. destruct (One s p t n M L) as (v & qs & o & C & E & K & O). exists o. split; [|easy].
  destruct D as [C'|v' qs' C' E'|v' C' E'|v' h' q' C' E' H' L']; try congruence.
  assert (v' = v) as -> by congruence. now assert (qs' = qs) as -> by congruence.
Qed.

(** Never twice, never at another host, and, unless a copy is in the network, once at [d]: no frame is lost. *)
Theorem unicast_once x : run T W S x -> In f (sent x) ->
  times_heard x d f <= 1 /\ (forall h, h <> d -> times_heard x h f = 0) /\ (gone x f -> times_heard x d f = 1).
Proof.
  intros R I.
  assert (forall w m, (forall h, h = d -> w h = m) -> total f (fun _ _ => m) w x = m) as A.
  { intros w m Wd.
    destruct (account T W S f (fun _ _ => True) (fun _ _ => m) w eq) with (x := x) as (s & p & t & _ & _ & E);
      try easy; try congruence.
    intros s p t n outs _ M L D. split; [easy|]. rewrite Dest in *.
    destruct (one_decision s p t n outs M L D) as (o & -> & Ho). unfold values. cbn [map]. rewrite sum_cons.
    cbn. destruct o as [c t'|h]; cbn; [lia|]. rewrite Wd by easy. lia. }
  split; [|split].
  - rewrite <- (A (is d) 1); [apply heard_at_most|]. intros h ->. unfold is. now rewrite N.eqb_refl.
  - intros h N. enough (times_heard x h f <= 0) by lia.
    rewrite <- (A (is h) 0); [apply heard_at_most|]. intros h' ->. unfold is.
    apply N.eqb_neq in N. now rewrite N.eqb_sym, N.
  - intros Go. rewrite <- (A (is d) 1); [symmetry; now apply heard_counts|].
    intros h ->. unfold is. now rewrite N.eqb_refl.
Qed.

End Unicast.

(** * Broadcasts, in a network that nobody changes *)

(** What the copies of a broadcast do at a switch that holds [c]. *)
Definition floods_to (T : Topology) (c : Config) (s : Switch) (p : Port) (t : Tag) : list Out :=
  match classify c p t with
  | None => []
  | Some v => match entry c v Broadcast with
              | Some qs => copies T c s p v (fun q => mem q qs)
              | None => copies T c s p v (floods c)
              end
  end.

Lemma broadcast_decision T c s p t outs : decides T c s p t Broadcast outs -> outs = floods_to T c s p t.
Proof.
  unfold floods_to. destruct 1 as [E|v qs E F|v E F|v h q E F [=] _]; rewrite E; [easy| |]; now rewrite F.
Qed.

(** The hosts that a broadcast reaches which arrives on channel [c] with tag [t], one for each copy: followed for
    [fuel] hops. *)
Fixpoint flood (T : Topology) (W : Wave) (fuel : nat) (c : Chan) (t : Tag) : list Host :=
  match fuel with
  | 0 => []
  | Datatypes.S n =>
      flat_map (fun o => match o with Onto c' t' => flood T W n c' t' | Into h => [h] end)
        (floods_to T (before W (fst c)) (fst c) (snd c) t)
  end.

Lemma held_still W s n : still W -> held W s n = before W s.
Proof. intros St. unfold held. rewrite (St s). now destruct n. Qed.

Definition occurs (b : Host) (l : list Host) : nat := list_sum (map (is b) l).

Lemma occurs_app b l l' : occurs b (l ++ l') = occurs b l + occurs b l'.
Proof. unfold occurs. now rewrite map_app, list_sum_app. Qed.

Section Counted.
Context (T : Topology) (W : Wave) (S : Sending) (rank : Chan -> nat) (top : nat) (f : Frame).
Hypothesis Still : still W.
Hypothesis Rises : rises T W S rank.
Hypothesis Top : forall c t d, may T W S c t d -> rank c <= top.
Hypothesis Dest : dest f = Broadcast.

Lemma next_state s p t o : may T W S (s, p) t Broadcast -> In o (floods_to T (before W s) s p t) ->
  match o with Onto c' t' => may T W S c' t' Broadcast /\ rank (s, p) < rank c' | Into _ => True end.
Proof.
  intros M I. destruct o as [c' t'|]; [|easy].
  destruct (decides_something T (held W s 0) s p t Broadcast) as (outs & D).
  pose proof D as D'. apply broadcast_decision in D'. rewrite held_still in D' by easy. subst outs. split.
  - eapply May_hop with (n := 0); eauto. lia.
  - apply Rises. exists t, Broadcast, 0, (floods_to T (before W s) s p t), t'. repeat split; eauto. lia.
Qed.

(** More fuel than there are ranks left changes nothing. *)
Lemma enough_fuel n : forall c t, may T W S c t Broadcast -> top - rank c < n ->
  flood T W (Datatypes.S n) c t = flood T W n c t.
Proof.
  induction n as [|n IH]; intros (s, p) t M L; [lia|].
  change (flat_map (fun o => match o with Onto c' t' => flood T W (Datatypes.S n) c' t' | Into h => [h] end)
      (floods_to T (before W s) s p t) =
    flat_map (fun o => match o with Onto c' t' => flood T W n c' t' | Into h => [h] end)
      (floods_to T (before W s) s p t)).
  pose proof (next_state s p t) as N. revert N. generalize (floods_to T (before W s) s p t) as l.
  induction l as [|o l IHl]; intros N; [easy|]. cbn [flat_map]. rewrite IHl.
  - f_equal. specialize (N o M (or_introl eq_refl)). destruct o as [c' t'|]; [|easy].
    destruct N as (Mc & Lc). apply IH; [easy|]. pose proof (Top _ _ _ Mc). lia.
  - intros o' M' I. apply N; auto. now right.
Qed.

Context (c0 : Chan) (t0 : Tag).
Hypothesis Sender : forall s p t, peer T s p = HostPort (source f) -> S (source f) t Broadcast -> (s, p) = c0 /\ t = t0.

(** Each host receives as many copies as [flood] lists for the port and the tag that the frame was sent with. *)
Theorem broadcast_counted fuel x b : top < fuel -> run T W S x -> In f (sent x) ->
  times_heard x b f <= occurs b (flood T W fuel c0 t0) /\
  (gone x f -> times_heard x b f = occurs b (flood T W fuel c0 t0)).
Proof.
  intros L R I.
  assert (total f (fun c t => occurs b (flood T W fuel c t)) (is b) x = occurs b (flood T W fuel c0 t0)) as A.
  { destruct (account T W S f (fun _ _ => True) (fun c t => occurs b (flood T W fuel c t)) (is b) eq) with (x := x)
      as (s & p & t & P & Se & E); try easy; try congruence.
    - intros s p t n outs _ M Ln D. split; [easy|]. rewrite Dest in *.
      rewrite held_still in D by easy. apply broadcast_decision in D. subst outs.
      rewrite <- (enough_fuel fuel (s, p) t M) by lia. cbn [flood fst snd].
      clear. generalize (floods_to T (before W s) s p t) as l. induction l as [|o l IH]; [easy|].
      unfold values in *. cbn [map flat_map]. rewrite sum_cons, occurs_app, IH. f_equal.
      destruct o; cbn; [easy|]. unfold occurs. cbn. lia.
    - rewrite Dest in Se. destruct (Sender s p t P Se) as (Ec & Et). rewrite <- Ec, <- Et. exact E. }
  rewrite <- A. split; [apply heard_at_most|]. intros Go. symmetry. now apply heard_counts.
Qed.

End Counted.
