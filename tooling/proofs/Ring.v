(** The model has deadlocks: three switches in a ring, each of which sends frames on to the next, come to a state in
    which frames are in the network and nothing can move. So theorem (a) does not hold for want of ways to be stuck. *)

From Coq Require Import List NArith Arith Bool Lia.
From Tagloom Require Import Model Runs.
Import ListNotations.
Open Scope N_scope.

(** Port 1 leads to the next switch, port 2 to the one before, port 3 to the host that bears the switch's number. *)
Definition next (s : Switch) : Switch := match s with 0 => 1 | 1 => 2 | _ => 0 end.
Definition previous (s : Switch) : Switch := match s with 0 => 2 | 1 => 0 | _ => 1 end.

Definition ring : Topology := {|
  ports _ := [1; 2; 3];
  peer s p := if N.leb s 2 then match p with
                | 1 => Link (next s) 2
                | 2 => Link (previous s) 1
                | 3 => HostPort s
                | _ => Nothing
                end else Nothing;
  room _ _ := 1%nat;
  wired := [(0, 1); (0, 2); (0, 3); (1, 1); (1, 2); (1, 3); (2, 1); (2, 2); (2, 3)];
|}.

(** One VLAN on all ports; an entry for each host: its port, or on to the next switch. *)
Definition holds (s : Switch) : Config := {|
  enabled _ := true; pvid _ := Some 1; takes_tagged _ := false; takes_untagged _ := true; filters _ := true;
  floods _ := true; learns _ := false; exists_vlan v := N.eqb v 1;
  member v _ := if N.eqb v 1 then Some Untagged else None;
  entry _ d := match d with Broadcast => None | To h => Some [if N.eqb h s then 3 else 1] end;
|}.

Definition unchanged : Wave := {| before := holds; lines _ := [] |}.
Definition anything : Sending := fun _ _ _ => True.

Definition at_ring (se : list Frame) (fl : list Packet) : State :=
  {| position := fun _ => 0%nat; sent := se; flying := fl; heard := [] |}.

Notation runs x := (run ring unchanged anything x).

Lemma deciding a k b se v qs : runs (at_ring se (a ++ k :: b)) -> todo k = None ->
  classify (holds (fst (at_ k))) (snd (at_ k)) (tag k) = Some v ->
  entry (holds (fst (at_ k))) v (dest (frame k)) = Some qs ->
  runs (at_ring se (a ++ with_todo k (copies ring (holds (fst (at_ k))) (fst (at_ k)) (snd (at_ k)) v
    (fun q => mem q qs)) :: b)).
Proof.
  intros R N C E. eapply Then; [exact R|]. apply Moves. exists a, k, b. apply Decide; [easy|].
  unfold held. cbn [lines unchanged before firstn fold_left]. now apply Pinned.
Qed.

(** A frame from host [s] to the host after the next one is sent, goes one hop, and is stuck there unless the next buffer
    has room. *)
Definition one (s : Switch) : Frame := {| source := s; number := 0; dest := To (next (next s)) |}.
Definition waiting (s : Switch) : Packet :=
  {| frame := one s; at_ := (next s, 2); tag := None; todo := None; path := [(next s, 2); (s, 3)] |}.

Lemma advance s se fl : N.leb s 2 = true -> runs (at_ring se fl) -> ~ In (one s) se ->
  load fl (s, 3) = 0%nat -> load fl (next s, 2) = 0%nat ->
  runs (at_ring (one s :: se) (fl ++ [waiting s])).
Proof.
  intros Ls R N L3 L2.
  set (k := {| frame := one s; at_ := (s, 3); tag := None; todo := None; path := [(s, 3)] |}).
  assert (s = 0 \/ s = 1 \/ s = 2) as Hs by (apply N.leb_le in Ls; lia).
  assert (runs (at_ring (one s :: se) (fl ++ [k]))) as R1.
  { eapply Then; [exact R|]. apply Send; try easy; [cbn; now rewrite Ls|].
    unfold has_room. cbn [fst snd room ring]. apply Nat.lt_1_r. exact L3. }
  apply (deciding fl k [] _ 1 [1]) in R1; try easy; [|now destruct Hs as [-> | [-> | ->]] ].
  assert (copies ring (holds (fst (at_ k))) (fst (at_ k)) (snd (at_ k)) 1 (fun q => mem q [1]) =
    [Onto (next s, 2) None]) as C by now destruct Hs as [-> | [-> | ->]].
  rewrite C in R1. set (k1 := with_todo k [Onto (next s, 2) None]) in R1.
  assert (runs (at_ring (one s :: se) ((fl ++ with_todo k1 [] :: []) ++ [arriving k1 (next s, 2) None]))) as R2.
  { eapply Then; [exact R1|]. apply Moves. exists fl, k1, []. apply (Pass _ _ _ _ _ _ _ _ [] []); [easy|].
    unfold has_room, load in *. rewrite filter_app, app_length, L2. destruct Hs as [-> | [-> | ->]]; cbn; lia. }
  eapply Then; [exact R2|]. apply Moves. rewrite <- app_assoc. exists fl, (with_todo k1 []), [arriving k1 (next s, 2) None].
  now apply Leave.
Qed.

Definition stuck (s : Switch) : Packet := with_todo (waiting s) [Onto (next (next s), 2) None].
Definition deadlock : State := at_ring [one 2; one 1; one 0] [stuck 0; stuck 1; stuck 2].

Lemma deadlock_happens : runs deadlock.
Proof.
  assert (runs (at_ring [] [])) as R by apply Start.
  apply (advance 0) in R; try easy.
  apply (advance 1) in R; try easy; [|now intros [[=]|[]]].
  apply (advance 2) in R; try easy; [|now intros [[=]|[[=]|[]]]].
  cbn [app] in R.
  apply (deciding [] (waiting 0) [waiting 1; waiting 2] _ 1 [1]) in R; try easy.
  apply (deciding [stuck 0] (waiting 1) [waiting 2] _ 1 [1]) in R; try easy.
  apply (deciding [stuck 0; stuck 1] (waiting 2) [] _ 1 [1]) in R; try easy.
Qed.

Lemma deadlock_rests : at_rest ring unchanged deadlock.
Proof.
  intros y (a & k & b & M).
  assert (flying deadlock = a ++ k :: b) as E by now destruct M.
  assert (k = stuck 0 \/ k = stuck 1 \/ k = stuck 2) as K.
  { assert (In k (flying deadlock)) as I by (rewrite E; apply in_elt). cbn in I. intuition auto. }
  remember deadlock as x eqn:Ex.
  destruct M as [pos se he outs N De|pos se he l1 l2 c t N R|pos se he l1 l2 h N|pos se he N].
  - now destruct K as [-> | [-> | ->]].
  - cbn in E. unfold has_room in R. injection Ex as _ _ Ex _. rewrite Ex in R.
    assert (c = (next (next 0), 2) \/ c = (next (next 1), 2) \/ c = (next (next 2), 2)) as C.
    { destruct K as [-> | [-> | ->]]; cbn in N; destruct l1 as [|? [|]]; injection N; intros; subst; try easy; auto. }
    destruct C as [-> | [-> | ->]]; cbn in R; lia.
  - destruct K as [-> | [-> | ->]]; cbn in N; destruct l1 as [|? [|]]; easy.
  - now destruct K as [-> | [-> | ->]].
Qed.

Theorem ring_deadlocks : well_wired ring /\ runs deadlock /\ flying deadlock <> [] /\ at_rest ring unchanged deadlock.
Proof.
  split; [|split; [exact deadlock_happens|split; [easy|exact deadlock_rests]]].
  assert (forall s, N.leb s 2 = true -> s = 0 \/ s = 1 \/ s = 2) as H by (intros s L; apply N.leb_le in L; lia).
  split; [|split; [|cbn; lia]]; intros s p; cbn [peer ring wired].
  - intros h. destruct (N.leb s 2) eqn:L; [|easy]. apply H in L.
    destruct p as [|[[]|[]|]]; try easy; intros _; destruct L as [-> | [-> | ->]]; cbn; tauto.
  - intros s' p'. destruct (N.leb s 2) eqn:L; [|easy]. apply H in L.
    destruct p as [|[[]|[]|]]; try easy; intros [= <- <-]; destruct L as [-> | [-> | ->]]; cbn; tauto.
Qed.
