(** Theorem (d): a change is judged from the union over the positions of each switch alone, and what is shown of the union
    holds in every interleaving of the switches' lines.

    The hypotheses are those that the verifier checks (verify/wave.py, numbers 1 to 4 there): each speaks of one switch at
    one of its positions. None speaks of a combination of positions of several switches. The conclusions are about runs:
    at each moment each switch may execute lines or take lines back, between any two moves of any frame. *)

From Coq Require Import List NArith Arith Bool Lia.
From Tagloom Require Import Model Runs Account Deadlock Delivery.
Import ListNotations.

(** * At least one copy *)

Section Kept.
Context (T : Topology) (W : Wave) (S : Sending) (f : Frame) (b : Host).
Hypothesis Dest : dest f = Broadcast.

(** [Surely c t]: whatever positions are met, a broadcast that arrives on [c] with tag [t] is heard by [b]. *)
Context (Surely : Chan -> Tag -> Prop).
Definition sure (o : Out) : Prop := match o with Onto c t => Surely c t | Into h => h = b end.

Hypothesis Surely_start : forall s p t, peer T s p = HostPort (source f) -> S (source f) t Broadcast -> Surely (s, p) t.
Hypothesis Surely_step : forall s p t n outs,
  Surely (s, p) t -> may T W S (s, p) t Broadcast -> n <= length (lines W s) ->
  decides T (held W s n) s p t Broadcast outs -> exists o, In o outs /\ sure o.

Definition carries (k : Packet) : Prop :=
  frame k = f /\ match todo k with None => Surely (at_ k) (tag k) | Some l => exists o, In o l /\ sure o end.

Definition kept (x : State) : Prop := In (b, f) (heard x) \/ exists k, In k (flying x) /\ carries k.

Lemma move_kept x y : fine T W S x -> kept x -> moves T W x y -> kept y.
Proof.
  intros F [H|(k0 & I0 & C0)] (a & k & b' & M).
  { left. destruct M; cbn in *; auto. }
  pose proof (move_from _ _ _ _ _ _ _ M) as E. rewrite E in I0.
  assert (In k0 a \/ In k0 b' \/ k0 = k) as [I|[I|Ek]].
  { apply in_app_iff in I0. cbn in I0. destruct I0 as [|[|]]; auto. }
  - right. exists k0. split; [|easy]. destruct M; cbn [flying]; rewrite ?in_app_iff; cbn; tauto.
  - right. exists k0. split; [|easy]. destruct M; cbn [flying]; rewrite ?in_app_iff; cbn; tauto.
  - subst k0. clear I0. destruct C0 as (Fk & C).
    assert (may T W S (at_ k) (tag k) (dest (frame k))) as Ma.
    { apply (proj2 F). rewrite E. apply in_elt. }
    pose proof (proj1 F) as P. clear F E. revert P.
    destruct M as [pos se he outs N De|pos se he l1 l2 c t N Ro|pos se he l1 l2 h N|pos se he N];
      cbn [position]; intros P; rewrite N in C; unfold kept; cbn [flying heard].
    + right. exists (with_todo k outs). split; [apply in_elt|]. split; [easy|]. cbn.
      rewrite Fk, Dest in *. destruct (at_ k) as (s, p). eapply Surely_step; eauto.
    + destruct C as (o & Io & So). apply in_app_iff in Io. cbn in Io. destruct Io as [Io|[<-|Io]].
      * right. exists (with_todo k (l1 ++ l2)). split; [apply in_app_iff; left; apply in_elt|].
        split; [easy|]. exists o. split; [apply in_app_iff; auto|easy].
      * right. exists (arriving k c t). split; [apply in_app_iff; right; now left|]. now split.
      * right. exists (with_todo k (l1 ++ l2)). split; [apply in_app_iff; left; apply in_elt|].
        split; [easy|]. exists o. split; [apply in_app_iff; auto|easy].
    + destruct C as (o & Io & So). apply in_app_iff in Io. cbn in Io. destruct Io as [Io|[<-|Io]].
      * right. exists (with_todo k (l1 ++ l2)). split; [apply in_elt|]. split; [easy|]. exists o.
        split; [apply in_app_iff; auto|easy].
      * left. cbn in So. subst h. left. now rewrite Fk.
      * right. exists (with_todo k (l1 ++ l2)). split; [apply in_elt|]. split; [easy|]. exists o.
        split; [apply in_app_iff; auto|easy].
    + now destruct C as (o & [] & _).
Qed.

Lemma run_kept x : run T W S x -> In f (sent x) -> kept x.
Proof.
  induction 1 as [|x y R IH St]; [easy|]. pose proof (run_fine _ _ _ _ R) as F. clear R. revert IH F.
  destruct St as [x y M|pos se fl he s p t f' P Se N Ro|x y E]; intros IH F I.
  - assert (sent y = sent x) as Ey by now destruct M as (a & k & b' & []).
    rewrite Ey in I. eapply move_kept; eauto.
  - cbn in *. destruct I as [->|I].
    + right. eexists. split; [cbn; apply in_app_iff; right; left; reflexivity|]. split; [easy|]. cbn.
      rewrite Dest in Se. now apply Surely_start.
    + destruct (IH I) as [|(k & Ik & C)]; [now left|]. right. exists k. split; [|easy]. cbn. apply in_app_iff. auto.
  - destruct E. exact (IH I).
Qed.

Theorem broadcast_kept x : run T W S x -> In f (sent x) -> gone x f -> 1 <= times_heard x b f.
Proof.
  intros R I Go. destruct (run_kept x R I) as [H|(k & Ik & Fk & _)]; [|now apply Go in Ik].
  unfold times_heard. clear - H. induction (heard x) as [|(h, f') l IH]; [easy|]. cbn.
  destruct H as [[= -> ->]|H].
  - rewrite N.eqb_refl. destruct (Frame_eq_dec f f); [cbn; lia|easy].
  - apply IH in H. destruct (_ && _); cbn; lia.
Qed.

End Kept.

(** ** Lemma 3: a flood includes the way of each unicast *)

(** At every position, where a frame is classified to a VLAN, all ports flood, and no entry narrows broadcasts. *)
Definition floods_plainly (T : Topology) (W : Wave) : Prop :=
  forall s n p t v, n <= length (lines W s) -> classify (held W s n) p t = Some v ->
    (forall q, In q (ports T s) -> floods (held W s n) q = true) /\
    entry (held W s n) v Broadcast = None.

Lemma shadow T W S b s p t n outs :
  one_way T W S b -> floods_plainly T W -> may T W S (s, p) t (To b) -> n <= length (lines W s) ->
  decides T (held W s n) s p t Broadcast outs -> exists o, In o outs /\ sure b (fun c t' => may T W S c t' (To b)) o.
Proof.
  intros One Plain M L D. destruct (One s p t n M L) as (v & qs & o & C & E & K & O).
  destruct (Plain s n p t v L C) as (Fl & Nb). apply broadcast_decision in D. unfold floods_to in D. rewrite C, Nb in D.
  exists o. assert (In o (copies T (held W s n) s p v (fun q => mem q qs))) as I by (rewrite K; now left). split.
  - subst outs. apply copies_in in I. destruct I as (q & m & Iq & Nq & Eq & _ & Mq & Io).
    apply copies_in. exists q, m. auto 10.
  - destruct o as [c t'|h]; cbn; [|easy]. eapply May_hop with (n := n); eauto. now apply Pinned.
Qed.

(** * At most as many copies as a bound says *)

(** How many copies of [f] hosts have received. *)
Definition copies_heard (x : State) (f : Frame) : nat :=
  length (filter (fun e => if Frame_eq_dec (snd e) f then true else false) (heard x)).

(** [most] bounds the copies that reach hosts from each frame state of broadcasts, whatever is chosen: at each position
    the bounds of what follows add up to no more. Counting ends at [limit]. *)
Definition bounded (T : Topology) (W : Wave) (S : Sending) (limit : nat) (most : Chan -> Tag -> nat) : Prop :=
  forall s p t n outs, may T W S (s, p) t Broadcast -> n <= length (lines W s) ->
    decides T (held W s n) s p t Broadcast outs -> Nat.min (values most (fun _ => 1) outs) limit <= most (s, p) t.

Section Most.
Context (T : Topology) (W : Wave) (S : Sending) (f : Frame) (limit : nat) (most : Chan -> Tag -> nat).
Hypothesis Dest : dest f = Broadcast.
Hypothesis Bounded : bounded T W S limit most.
Hypothesis Most_start : forall s p t,
  peer T s p = HostPort (source f) -> S (source f) t Broadcast -> most (s, p) t < limit.

Theorem broadcast_bounded x : run T W S x -> In f (sent x) -> copies_heard x f < limit.
Proof.
  intros R I.
  destruct (account T W S f (fun _ _ => True) most (fun _ => 1) (fun a b => b < limit -> a <= b)) with (x := x)
    as (s & p & t & P & Se & E); auto.
  - intros a b c H1 H2 L. specialize (H2 L). specialize (H1 ltac:(lia)). lia.
  - intros a b c H L. specialize (H ltac:(lia)). lia.
  - intros s p t n outs _ M L D. rewrite Dest in *. split; [easy|]. intros Lm.
    pose proof (Bounded s p t n outs M L D). lia.
  - rewrite Dest in Se. pose proof (Most_start s p t P Se) as L. specialize (E L).
    enough (copies_heard x f <= total f most (fun _ => 1) x) by lia.
    unfold copies_heard, total. clear. induction (heard x) as [|(h, f') l IH]; [cbn; lia|].
    cbn [map filter fst snd]. rewrite sum_cons. unfold value_heard at 1. cbn [snd fst].
    destruct (Frame_eq_dec f' f); cbn [length]; lia.
Qed.

Lemma sum_is h hosts : NoDup hosts -> list_sum (map (fun b => is b h) hosts) <= 1.
Proof.
  unfold is. induction 1 as [|b hosts Nb N IH]; [cbn; lia|]. cbn [map]. rewrite sum_cons.
  destruct (N.eqb_spec h b) as [->|Ne]; [|lia]. rewrite zero_sum; [lia|].
  intros b' I. destruct (N.eqb_spec b b') as [->|]; easy.
Qed.

Lemma sum_plus (g g' : Host -> nat) l :
  list_sum (map (fun b => g b + g' b) l) = list_sum (map g l) + list_sum (map g' l).
Proof. induction l as [|b l IH]; [easy|]. cbn [map]. rewrite !sum_cons, IH. lia. Qed.

Lemma times_add x hosts : NoDup hosts -> list_sum (map (fun h => times_heard x h f) hosts) <= copies_heard x f.
Proof.
  intros N. unfold times_heard, copies_heard. induction (heard x) as [|(h, f') l IH].
  - cbn. rewrite zero_sum; [lia|easy].
  - set (rest := fun b : Host => length (filter (fun e : Host * Frame =>
      N.eqb (fst e) b && (if Frame_eq_dec (snd e) f then true else false)) l)) in *.
    change (list_sum (map rest hosts) <=
      length (filter (fun e : Host * Frame => if Frame_eq_dec (snd e) f then true else false) l)) in IH.
    rewrite (map_ext _ (fun b => (if Frame_eq_dec f' f then is b h else 0) + rest b)).
    + rewrite sum_plus. cbn [filter snd]. destruct (Frame_eq_dec f' f).
      * pose proof (sum_is h hosts N). cbn [length]. exact (Nat.add_le_mono _ _ _ _ H IH).
      * rewrite zero_sum by easy. exact IH.
    + intros b. unfold rest, is. cbn [filter fst snd]. destruct (Frame_eq_dec f' f), (N.eqb h b); easy.
Qed.

(** At least one copy at each other host, and fewer copies than hosts: exactly one at each, none at the sender. *)
Lemma exactly_once x hosts :
  run T W S x -> In f (sent x) -> NoDup hosts -> In (source f) hosts -> limit = length hosts ->
  (forall h, In h hosts -> h <> source f -> 1 <= times_heard x h f) ->
  forall h, In h hosts -> times_heard x h f = if N.eqb h (source f) then 0 else 1.
Proof.
  intros R I N Is L Least h Ih.
  pose proof (broadcast_bounded x R I) as B. pose proof (times_add x hosts N) as A.
  assert (list_sum (map (fun h => if N.eqb h (source f) then 0 else 1) hosts) + 1 = length hosts) as Len.
  { clear - N Is. induction N as [|b l Nb N IH]; [easy|]. cbn [map length]. rewrite sum_cons.
    destruct (N.eqb_spec b (source f)) as [->|Ne].
    - enough (list_sum (map (fun h => if N.eqb h (source f) then 0 else 1) l) = length l) by lia.
      clear - Nb. induction l as [|b l IH]; [easy|]. cbn [map length]. rewrite sum_cons, IH.
      + destruct (N.eqb_spec b (source f)) as [->|]; [|easy]. exfalso. apply Nb. now left.
      + intros H. apply Nb. now right.
    - rewrite <- IH; [lia|]. now destruct Is. }
  set (times := fun h => times_heard x h f) in *. set (due := fun h => if N.eqb h (source f) then 0 else 1) in *.
  assert (forall h, In h hosts -> due h <= times h) as Le.
  { intros h' I'. unfold due. destruct (N.eqb_spec h' (source f)); [lia|]. now apply Least. }
  assert (list_sum (map times hosts) <= list_sum (map due hosts)) as Sum by lia.
  clear - Le Sum Ih. change (times h = due h). induction hosts as [|b l IH]; [easy|].
  cbn [map] in Sum. rewrite !sum_cons in Sum.
  assert (list_sum (map due l) <= list_sum (map times l)) as Rest.
  { clear - Le. induction l as [|c l IH]; [easy|]. clearbody times due. cbn [map]. rewrite !sum_cons.
    pose proof (Le c ltac:(cbn; auto)). enough (list_sum (map due l) <= list_sum (map times l)) by lia.
    apply IH. intros h' [<-|H']; apply Le; cbn; auto. }
  pose proof (Le b (or_introl eq_refl)). destruct Ih as [->|Ih]; [lia|].
  apply IH; [easy| |lia]. intros h' H'. apply Le. now right.
Qed.

End Most.

(** * The theorem *)

(** What the verifier checks of a wave, for the kept [hosts]. What it finds is an order of the channels and bounds of
    copies. Each clause speaks of one switch and one of its positions at a time. *)
Record checked (T : Topology) (W : Wave) (S : Sending) (hosts : list Host) (rank : Chan -> nat) : Prop := {
  checked_rises : rises T W S rank;  (* number 1 in wave.py *)
  checked_one_way : forall d, In d hosts -> one_way T W S d;  (* number 2 *)
  checked_plain : floods_plainly T W;  (* number 3, the case without entries for the broadcast address *)
}.

(** Hosts send frames to one another as they send broadcasts: untagged, that is, from the same port. *)
Definition sends_alike (S : Sending) (hosts : list Host) : Prop :=
  forall a b t, In b hosts -> b <> a -> S a t Broadcast -> S a t (To b).

(** In every interleaving, at every moment: no deadlock, no frame that goes round; if hosts pause, a bounded number of
    moves is left whatever lines switches execute meanwhile; and each frame between kept hosts is received once, by its
    host, and each broadcast by each other kept host. *)
Theorem wave T W S hosts rank : well_wired T -> checked T W S hosts rank -> sends_alike S hosts ->
  forall x, run T W S x ->
  (flying x <> [] -> exists a k b y, move T W a k b x y /\ first_of_buffer a k) /\
  (forall k, In k (flying x) -> NoDup (path k)) /\
  (exists most, forall m y, after T W m x y -> m <= most) /\
  (forall f d, In f (sent x) -> dest f = To d -> In d hosts ->
     times_heard x d f <= 1 /\ (forall h, h <> d -> times_heard x h f = 0) /\ (gone x f -> times_heard x d f = 1)) /\
  (forall f b, In f (sent x) -> dest f = Broadcast -> In b hosts -> b <> source f -> gone x f ->
     1 <= times_heard x b f).
Proof.
  intros Wired [Rises One Plain] Alike x R. repeat split.
  - intros N. eapply no_deadlock; eauto.
  - intros k I. eapply no_loop; eauto.
  - eapply moves_end; eauto.
  - eapply unicast_once; eauto.
  - intros. eapply unicast_once; eauto.
  - eapply unicast_once; eauto.
  - intros f b I D Ib Ne Go.
    eapply broadcast_kept with (Surely := fun c t => may T W S c t (To b)) (W := W) (S := S) (T := T); eauto.
    + intros s p t P Se. eapply May_send; eauto.
    + intros s p t n outs M _ L De. eapply shadow; eauto.
Qed.

(** With bounds of copies (number 4 in wave.py), each broadcast is received exactly once by each other host, and never by
    its sender. *)
Theorem wave_broadcast_once T W S hosts rank most : well_wired T -> checked T W S hosts rank -> sends_alike S hosts ->
  NoDup hosts -> bounded T W S (length hosts) most ->
  (forall s p a t, peer T s p = HostPort a -> S a t Broadcast -> most (s, p) t < length hosts) ->
  forall x f, run T W S x -> In f (sent x) -> dest f = Broadcast -> In (source f) hosts -> gone x f ->
  forall h, In h hosts -> times_heard x h f = if N.eqb h (source f) then 0 else 1.
Proof.
  intros Wired C Alike N B Bs x f R I D Is Go h Ih.
  eapply exactly_once with (S := S) (most := most); eauto.
  intros h' I' Ne. eapply (wave T W S hosts rank); eauto.
Qed.
