(** A checker, and the proof that what it accepts has what theorems (a) to (d) promise.

    A reader must trust [Net] and its meaning ([topology], [wave_of], [sending]), and the statements at the end. The
    functions between need no trust. *)

From Coq Require Import List NArith PArith Arith Bool Lia FMapPositive.
From Tagloom Require Import Model Runs Account Deadlock Delivery Waves.
Import ListNotations.

(** * What is checked *)

Definition map_of := PositiveMap.t.
Definition nothing {A} : map_of A := PositiveMap.empty A.
Definition put {A} (n : N) (a : A) (m : map_of A) : map_of A := PositiveMap.add (N.succ_pos n) a m.
Definition look {A} (n : N) (m : map_of A) : option A := PositiveMap.find (N.succ_pos n) m.
Definition look2 {A} (n k : N) (m : map_of (map_of A)) : option A :=
  match look n m with Some m' => look k m' | None => None end.

Record PortConfig := {
  is_enabled : bool;
  its_pvid : option Vlan;
  is_tagged_taken : bool;
  is_untagged_taken : bool;
  is_filtering : bool;
  is_flooding : bool;
  is_learning : bool;
}.

(** A destination as a number. *)
Definition dest_key (d : Dest) : N := match d with Broadcast => 0 | To h => N.succ h end.

Record SwitchConfig := {
  its_ports : map_of PortConfig;
  its_members : map_of (map_of Membership);  (* by VLAN and port; a VLAN exists if it is here *)
  its_entries : map_of (map_of (list Port));  (* by VLAN and [dest_key] *)
}.

(** A port that the configuration does not name is off. *)
Definition config_of (c : SwitchConfig) : Config :=
  let port {A} (p : Port) (f : PortConfig -> A) (none : A) :=
    match look p (its_ports c) with Some d => f d | None => none end in
  {| enabled p := port p is_enabled false;
     pvid p := port p its_pvid None;
     takes_tagged p := port p is_tagged_taken false;
     takes_untagged p := port p is_untagged_taken false;
     filters p := port p is_filtering false;
     floods p := port p is_flooding false;
     learns p := port p is_learning false;
     exists_vlan v := match look v (its_members c) with Some _ => true | None => false end;
     member v p := look2 v p (its_members c);
     entry v d := look2 v (dest_key d) (its_entries c) |}.

Definition off : SwitchConfig := {| its_ports := nothing; its_members := nothing; its_entries := nothing |}.

Record Net := {
  ports_of : map_of (list Port);  (* by switch *)
  ends_of : map_of (map_of End);  (* by switch and port: what its cable leads to *)
  configs_of : map_of (list SwitchConfig);  (* by switch: what it holds before any line, after the first, and so on *)
  hosts_at : map_of Chan;  (* by host: its switch and port *)
  ranks_of : map_of (map_of N);  (* by switch and port: the place of the channel that arrives there in the order *)
  top_rank : N;
}.

Definition switch_ports (n : Net) (s : Switch) : list Port := match look s (ports_of n) with Some l => l | None => [] end.
Definition end_of (n : Net) (s : Switch) (p : Port) : End :=
  match look2 s p (ends_of n) with Some e => e | None => Nothing end.
Definition configs (n : Net) (s : Switch) : list SwitchConfig :=
  match look s (configs_of n) with Some l => l | None => [] end.

(** All entries of a map, with the numbers that they are found by. *)
Definition items {A} (m : map_of A) : list (N * A) := map (fun e => (Pos.pred_N (fst e), snd e)) (PositiveMap.elements m).
Definition items2 {A} (m : map_of (map_of A)) : list (N * N * A) :=
  flat_map (fun e => map (fun e' => (fst e, fst e', snd e')) (items (snd e))) (items m).

Definition topology (n : Net) (buffers : Switch -> Port -> nat) : Topology :=
  {| ports := switch_ports n; peer := end_of n; room := buffers; wired := map fst (items2 (ends_of n)) |}.

(** A line makes the switch hold the next configuration of its list. *)
Definition wave_of (n : Net) : Wave :=
  {| before s := config_of (hd off (configs n s)); lines s := map (fun c _ => config_of c) (tl (configs n s)) |}.

Definition hosts (n : Net) : list Host := map fst (items (hosts_at n)).

(** Hosts send untagged frames, to anybody but themselves. *)
Definition sending : Sending := fun h t d => t = None /\ d <> To h.

(** * Checking *)

Lemma look_items {A} n (a : A) m : look n m = Some a -> In (n, a) (items m).
Proof.
  unfold look, items. intros E. apply PositiveMap.elements_correct in E.
  apply (in_map (fun e => (Pos.pred_N (fst e), snd e))) in E. cbn in E. now rewrite N.pos_pred_succ in E.
Qed.

Lemma look2_items {A} n k (a : A) m : look2 n k m = Some a -> In (n, k, a) (items2 m).
Proof.
  unfold look2, items2. destruct (look n m) as [m'|] eqn:E; [|easy]. intros E'.
  apply in_flat_map. exists (n, m'). split; [now apply look_items|]. cbn. apply look_items in E'.
  apply (in_map (fun e' => (n, fst e', snd e')) _ _ E').
Qed.

Definition rank_of (n : Net) (c : Chan) : N := match look2 (fst c) (snd c) (ranks_of n) with Some r => r | None => 0%N end.

(** ** Cables, hosts, entries *)

Definition known (n : Net) (h : Host) : bool := match look h (hosts_at n) with Some _ => true | None => false end.

Definition end_fits (n : Net) (e : N * N * End) : bool :=
  match e with
  | (s, p, Link s' p') => match end_of n s' p' with Link s2 p2 => N.eqb s2 s && N.eqb p2 p | _ => false end
  | (s, p, HostPort h) => match look h (hosts_at n) with Some c => Chan_eqb c (s, p) | None => false end
  | (_, _, Nothing) => true
  end.

Definition host_fits (n : Net) (e : N * Chan) : bool :=
  match end_of n (fst (snd e)) (snd (snd e)) with HostPort h => N.eqb h (fst e) | _ => false end.

(** No entry is for an address that is no host's. *)
Definition entries_fit (n : Net) (c : SwitchConfig) : bool :=
  forallb (fun e => match snd (fst e) with 0%N => true | k => known n (N.pred k) end) (items2 (its_entries c)).

Definition well_formed (n : Net) : bool :=
  forallb (end_fits n) (items2 (ends_of n)) &&
  forallb (host_fits n) (items (hosts_at n)) &&
  forallb (fun e => N.leb (snd e) (top_rank n)) (items2 (ranks_of n)) &&
  forallb (fun e => match snd e with [] => false | l => forallb (entries_fit n) l end) (items (configs_of n)).

(** ** Frame states *)

Definition tag_key (t : Tag) : N := match t with None => 0 | Some v => N.succ v end.
Definition key_tag (k : N) : Tag := match k with 0%N => None | k => Some (N.pred k) end.

(** A set of frame states to one destination: by switch, port and [tag_key]. *)
Definition States := map_of (map_of (map_of unit)).

Definition has (x : States) (c : Chan) (t : Tag) : bool :=
  match look2 (fst c) (snd c) x with
  | Some m => match look (tag_key t) m with Some _ => true | None => false end
  | None => false
  end.

Definition all_states (x : States) : list (Chan * Tag) :=
  flat_map (fun e => map (fun e' => (fst e, key_tag (fst e'))) (items (snd e))) (items2 x).

Lemma has_in x c t : has x c t = true -> In (c, t) (all_states x).
Proof.
  unfold has, all_states. destruct (look2 (fst c) (snd c) x) as [m|] eqn:E; [|easy].
  destruct (look (tag_key t) m) as [u|] eqn:E'; [|easy]. intros _.
  apply in_flat_map. exists (fst c, snd c, m). split; [now apply look2_items|]. cbn.
  apply look_items in E'. apply (in_map (fun e' => (fst c, snd c, key_tag (fst e')))) in E'. cbn in E'.
  replace (key_tag (tag_key t)) with t in E'; [now destruct c|].
  destruct t as [v|]; [|easy]. cbn. unfold key_tag. destruct (N.succ v) eqn:Es; [now destruct v|].
  now rewrite <- Es, N.pred_succ.
Qed.

(** By which ports a switch may send a frame that no entry is for: those that flood, and for an address those that learn. *)
Definition unnamed (c : Config) (d : Dest) (q : Port) : bool :=
  floods c q || match d with To _ => learns c q | Broadcast => false end.

(** What a switch may do with a frame: nothing, or copies, and whether a static entry says so. *)
Definition answer (T : Topology) (c : Config) (s : Switch) (p : Port) (t : Tag) (d : Dest) : option (bool * list Out) :=
  match classify c p t with
  | None => None
  | Some v => match entry c v d with
              | Some qs => Some (true, copies T c s p v (fun q => mem q qs))
              | None => Some (false, copies T c s p v (unnamed c d))
              end
  end.

Definition onward (n : Net) (x : States) (c : Chan) (o : Out) : bool :=
  match o with Onto c' t' => has x c' t' && N.ltb (rank_of n c) (rank_of n c') | Into _ => true end.

Definition delivers (d : Dest) (o : Out) : bool :=
  match o, d with Into h, To d' => N.eqb h d' | _, _ => true end.

Definition one_of (d : Dest) (a : option (bool * list Out)) : bool :=
  match a with Some (true, [o]) => delivers d o | _ => false end.

Definition state_fits (n : Net) (T : Topology) (d : Dest) (pinned : bool) (x : States) (e : Chan * Tag) : bool :=
  (negb pinned || match configs n (fst (fst e)) with [] => false | _ => true end) &&
  forallb (fun c =>
    let a := answer T (config_of c) (fst (fst e)) (snd (fst e)) (snd e) d in
    match a with None => true | Some (_, l) => forallb (onward n x (fst e)) l end && (negb pinned || one_of d a))
    (configs n (fst (fst e))).

(** The states of [x] hold what hosts send to [d], and all that follows; ranks rise; and if [pinned], each frame has one
    way out, by a static entry. *)
Definition closed (n : Net) (T : Topology) (d : Dest) (pinned : bool) (x : States) : bool :=
  forallb (fun e => match d with To h => N.eqb h (fst e) | Broadcast => false end || has x (snd e) None)
    (items (hosts_at n)) &&
  forallb (state_fits n T d pinned x) (all_states x).

(** ** Broadcasts *)

Fixpoint all_new (n : Net) (seen : map_of unit) (l : list Host) : bool :=
  match l with
  | [] => true
  | h :: l => known n h && match look h seen with None => all_new n (put h tt seen) l | Some _ => false end
  end.

Definition heard_by_others (n : Net) (a : Host) (l : list Host) : bool :=
  all_new n (put a tt nothing) l && Nat.eqb (Datatypes.S (length l)) (length (hosts n)).

Definition broadcasts_fit (n : Net) (T : Topology) : bool :=
  let fuel := Datatypes.S (N.to_nat (top_rank n)) in
  forallb (fun e => heard_by_others n (fst e) (flood T (wave_of n) fuel (snd e) None)) (items (hosts_at n)).

(** ** Broadcasts during a change *)

Definition floods_all (n : Net) (e : N * list SwitchConfig) : bool :=
  forallb (fun c =>
    forallb (floods (config_of c)) (switch_ports n (fst e)) &&
    forallb (fun e' => negb (N.eqb (snd (fst e')) 0)) (items2 (its_entries c))) (snd e).

(** Bounds of the copies that reach hosts, by switch, port and [tag_key]. *)
Definition Bounds := map_of (map_of (map_of N)).

Definition bound_at (m : Bounds) (c : Chan) (t : Tag) : N :=
  match look2 (fst c) (snd c) m with
  | Some l => match look (tag_key t) l with Some b => b | None => 0%N end
  | None => 0%N
  end.

Definition bounds_of (m : Bounds) (l : list Out) : N :=
  fold_right (fun o sum => N.add (match o with Onto c t => bound_at m c t | Into _ => 1%N end) sum) 0%N l.

Definition bound_fits (n : Net) (T : Topology) (limit : N) (m : Bounds) (e : Chan * Tag) : bool :=
  forallb (fun c =>
    N.leb (N.min (bounds_of m (floods_to T (config_of c) (fst (fst e)) (snd (fst e)) (snd e))) limit)
      (bound_at m (fst e) (snd e)))
    (configs n (fst (fst e))).

(** Host [b] hears each broadcast of the others whatever is met: from every state of [x], each configuration sends a copy
    into [b], or to a state of [x]. *)
Definition heard_surely (n : Net) (T : Topology) (x : States) (b : Host) : bool :=
  forallb (fun e => N.eqb (fst e) b || has x (snd e) None) (items (hosts_at n)) &&
  forallb (fun e =>
    match configs n (fst (fst e)) with [] => false | _ => true end &&
    forallb (fun c =>
      existsb (fun o => match o with Onto c' t' => has x c' t' | Into h => N.eqb h b end)
        (floods_to T (config_of c) (fst (fst e)) (snd (fst e)) (snd e)))
      (configs n (fst (fst e))))
    (all_states x).

(** During a change, all ports flood and no entry narrows broadcasts, or each host surely hears them; and [bounds] bound
    the copies: fewer than there are hosts. *)
Definition change_broadcasts_fit (n : Net) (T : Topology) (x : States) (bounds : Bounds) (sure_of : Host -> States)
    : bool :=
  let limit := N.of_nat (length (hosts n)) in
  (forallb (floods_all n) (items (configs_of n)) || forallb (fun b => heard_surely n T (sure_of b) b) (hosts n)) &&
  forallb (bound_fits n T limit bounds) (all_states x) &&
  forallb (fun e => N.ltb (bound_at bounds (snd e) None) limit) (items (hosts_at n)).

(** ** The checker *)

(** [states d] are the frame states to [d], found by whoever can: they need no trust. [unknown] is the number of no host,
    and stands for all addresses that no entry names. *)
Definition check_wave (n : Net) (unknown : Host) (states : Dest -> States) : bool :=
  let T := topology n (fun _ _ => 1) in
  well_formed n && negb (known n unknown) &&
  closed n T Broadcast false (states Broadcast) && closed n T (To unknown) false (states (To unknown)) &&
  forallb (fun h => closed n T (To h) true (states (To h))) (hosts n).

Definition check_still (n : Net) (unknown : Host) (states : Dest -> States) : bool :=
  check_wave n unknown states &&
  forallb (fun e => match snd e with [_] => true | _ => false end) (items (configs_of n)) &&
  broadcasts_fit n (topology n (fun _ _ => 1)).

Definition check_change (n : Net) (unknown : Host) (states : Dest -> States) (bounds : Bounds) (sure_of : Host -> States)
    : bool :=
  check_wave n unknown states &&
  change_broadcasts_fit n (topology n (fun _ _ => 1)) (states Broadcast) bounds sure_of.

(** * Soundness *)

Section Sound.
Context (n : Net) (unknown : Host) (states : Dest -> States) (buffers : Switch -> Port -> nat).
Hypothesis Buffers : forall s p, 0 < buffers s p.
Hypothesis Checked : check_wave n unknown states = true.

Let T := topology n buffers.
Let W := wave_of n.

Lemma same_copies c s p v allowed : copies (topology n (fun _ _ => 1)) c s p v allowed = copies T c s p v allowed.
Proof. reflexivity. Qed.

Lemma parts : well_formed n = true /\ known n unknown = false /\ closed n T Broadcast false (states Broadcast) = true /\
  closed n T (To unknown) false (states (To unknown)) = true /\
  forall h, In h (hosts n) -> closed n T (To h) true (states (To h)) = true.
Proof.
  pose proof Checked as C. unfold check_wave in C. rewrite !andb_true_iff, negb_true_iff, forallb_forall in C.
  destruct C as ((((A & B) & C) & D) & E). auto.
Qed.

Lemma formed : forall e, In e (items2 (ends_of n)) -> end_fits n e = true.
Proof.
  destruct parts as (A & _). unfold well_formed in A. rewrite !andb_true_iff, !forallb_forall in A. tauto.
Qed.

Lemma end_item s p e : end_of n s p = e -> e <> Nothing -> In (s, p, e) (items2 (ends_of n)).
Proof.
  unfold end_of. destruct (look2 s p (ends_of n)) as [e'|] eqn:E; [|congruence].
  intros -> _. now apply look2_items.
Qed.

Lemma wires : well_wired T.
Proof.
  split; [|split]; [| |exact Buffers].
  - intros s p h P. cbn in *. apply (in_map fst _ (s, p, HostPort h)). now apply end_item.
  - intros s p s' p' P. cbn in *. apply end_item in P; [|easy]. apply formed in P. cbn in P.
    destruct (end_of n s' p') as [s2 p2| |] eqn:E; try easy.
    apply (in_map fst _ (s', p', Link s2 p2)). now apply end_item.
Qed.

Lemma host_port s p h : end_of n s p = HostPort h -> look h (hosts_at n) = Some (s, p).
Proof.
  intros P. apply end_item in P; [|easy]. apply formed in P. cbn in P.
  destruct (look h (hosts_at n)) as [c|]; [|easy]. apply Chan_eqb_spec in P. now subst.
Qed.

Lemma known_host h : known n h = true <-> In h (hosts n).
Proof.
  unfold known, hosts. split.
  - destruct (look h (hosts_at n)) as [c|] eqn:E; [|easy]. intros _. apply look_items in E. now apply (in_map fst) in E.
  - intros I. apply in_map_iff in I. destruct I as ((h', c) & <- & I). cbn.
    destruct parts as (A & _). unfold well_formed in A. rewrite !andb_true_iff, !forallb_forall in A.
    destruct A as (((_ & A) & _) & _). apply A in I. unfold host_fits in I. cbn in I.
    destruct (end_of n (fst c) (snd c)) as [|h| ] eqn:E; try easy. apply N.eqb_eq in I. subst h.
    apply host_port in E. now rewrite E.
Qed.

(** What a switch may hold is one of its configurations. *)
Lemma holds s k : k <= length (lines W s) -> configs n s <> [] ->
  exists c, In c (configs n s) /\ held W s k = config_of c.
Proof.
  intros _ Ne. unfold held, W. cbn. destruct (configs n s) as [|c0 l]; [easy|]. cbn. clear Ne.
  revert k c0. induction l as [|c l IH]; intros k c0.
  - exists c0. split; [now left|]. now destruct k.
  - destruct k as [|k]; cbn.
    + exists c0. split; [now left|easy].
    + destruct (IH k c) as (c' & I & E). exists c'. split; [now right|exact E].
Qed.

Lemma holds_nothing s k : configs n s = [] -> held W s k = config_of off.
Proof. intros E. unfold held, W. cbn. rewrite E. cbn. now destruct k. Qed.

Lemma off_drops p t : classify (config_of off) p t = None.
Proof. unfold classify. cbn. unfold look. rewrite PositiveMap.gempty. now destruct t. Qed.

(** The destination that stands for [d]. *)
Definition stands_for (d : Dest) : Dest :=
  match d with Broadcast => Broadcast | To h => if known n h then To h else To unknown end.

Lemma same_entries s c v d : In c (configs n s) -> entry (config_of c) v d = entry (config_of c) v (stands_for d).
Proof.
  intros I. destruct d as [|h]; [easy|]. cbn [stands_for]. destruct (known n h) eqn:K; [easy|].
  assert (forall h', known n h' = false -> entry (config_of c) v (To h') = None) as None_.
  { intros h' K'. cbn. destruct (look2 v (N.succ h') (its_entries c)) as [qs|] eqn:E; [|easy].
    apply look2_items in E. destruct parts as (A & _). unfold well_formed in A.
    rewrite !andb_true_iff, !forallb_forall in A. destruct A as (_ & A).
    assert (In (s, configs n s) (items (configs_of n))) as Is.
    { unfold configs in *. destruct (look s (configs_of n)) as [l|] eqn:El; [now apply look_items|easy]. }
    apply A in Is. cbn [snd] in Is. destruct (configs n s) as [|c0 l] eqn:Ec; [easy|]. rewrite forallb_forall in Is.
    apply Is in I. unfold entries_fit in I. rewrite forallb_forall in I. apply I in E. cbn [fst snd] in E.
    destruct (N.succ h') eqn:Es; [now destruct h'|]. rewrite <- Es, N.pred_succ in E. congruence. }
  rewrite !None_; auto. apply parts.
Qed.

Lemma stands_closed d : exists pinned, closed n T (stands_for d) pinned (states (stands_for d)) = true.
Proof.
  destruct parts as (_ & _ & B & U & H). destruct d as [|h]; cbn; [eauto|].
  destruct (known n h) eqn:K; [|eauto]. apply known_host in K. eauto.
Qed.

(** What a state of the set may lead to is in the set, at a higher rank. *)
Lemma onward_of c t d k outs o : has (states (stands_for d)) c t = true -> k <= length (lines W (fst c)) ->
  decides T (held W (fst c) k) (fst c) (snd c) t d outs -> In o outs ->
  onward n (states (stands_for d)) c o = true.
Proof.
  intros H L D I. destruct (configs n (fst c)) as [|c0 l] eqn:Ec.
  - rewrite holds_nothing in D by easy. destruct D; rewrite off_drops in *; easy.
  - destruct (holds (fst c) k L) as (x & Ix & Ex); [now rewrite Ec|]. rewrite Ex in D.
    destruct (stands_closed d) as (pinned & C). unfold closed in C. rewrite andb_true_iff, !forallb_forall in C.
    destruct C as (_ & C). apply has_in in H. apply C in H. unfold state_fits in H.
    rewrite andb_true_iff, forallb_forall in H. destruct H as (_ & H).
    specialize (H x Ix). cbv zeta in H. rewrite andb_true_iff in H. destruct H as (H & _). cbn [fst snd] in H.
    unfold answer in H. destruct D as [Cl|v qs Cl E|v Cl E|v h q Cl E Ed Le]; [easy| | | ];
      rewrite Cl, <- (same_entries _ _ _ _ Ix), E in H; cbv beta iota in H; rewrite forallb_forall in H; apply H; [easy| | ];
      apply copies_in in I; destruct I as (q' & m & I1 & I2 & I3 & I4 & I5 & I6); apply copies_in; exists q', m;
      (enough (unnamed (config_of x) (stands_for d) q' = true) by tauto); unfold unnamed; [now rewrite I4|].
    apply N.eqb_eq in I4. subst q' d. rewrite Le. cbn. destruct (known n h); apply orb_true_r.
Qed.

Lemma may_has c t d : may T W sending c t d -> has (states (stands_for d)) c t = true.
Proof.
  induction 1 as [s p h t d P (-> & Nd)|s p t d k outs c t' M IH L D I].
  - destruct (stands_closed d) as (pinned & C). unfold closed in C. rewrite andb_true_iff, !forallb_forall in C.
    destruct C as (C & _). pose proof P as P'. apply host_port in P. pose proof (look_items _ _ _ P) as Ih.
    apply C in Ih. cbn in Ih. rewrite orb_true_iff in Ih. destruct Ih as [Ih|]; [|easy]. exfalso.
    assert (known n h = true) as Kh by (unfold known; now rewrite P).
    destruct d as [|h']; [easy|]. cbn in Ih. destruct (known n h') eqn:K; apply N.eqb_eq in Ih.
    + now subst.
    + subst h. destruct parts as (_ & U & _). congruence.
  - pose proof (onward_of (s, p) t d k outs (Onto c t') IH L D I) as O. cbn in O. now apply andb_true_iff in O.
Qed.

Definition rank (c : Chan) : nat := N.to_nat (rank_of n c).

Lemma check_rises : rises T W sending rank.
Proof.
  intros c c' (t & d & k & outs & t' & M & L & D & I). apply may_has in M.
  pose proof (onward_of c t d k outs (Onto c' t') M L D I) as O. cbn in O. apply andb_true_iff in O.
  destruct O as (_ & O). apply N.ltb_lt in O. unfold rank. lia.
Qed.

Lemma check_one_way d : In d (hosts n) -> one_way T W sending d.
Proof.
  intros Id s p t k M L. apply may_has in M. cbn in M.
  pose proof Id as K. apply known_host in K. rewrite K in M.
  destruct parts as (_ & _ & _ & _ & C). specialize (C d Id). unfold closed in C.
  rewrite andb_true_iff, !forallb_forall in C. destruct C as (_ & C). apply has_in in M. apply C in M.
  unfold state_fits in M. cbn [fst snd negb orb] in M. rewrite andb_true_iff, forallb_forall in M.
  destruct M as (Ne & M). destruct (holds s k L) as (x & Ix & Ex); [now destruct (configs n s)|]. rewrite Ex.
  specialize (M x Ix). cbv zeta in M. rewrite andb_true_iff in M. destruct M as (_ & M). unfold one_of, answer in M.
  destruct (classify (config_of x) p t) as [v|] eqn:Cl; [|easy].
  destruct (entry (config_of x) v (To d)) as [qs|] eqn:E; [|easy].
  destruct (copies _ _ _ _ _ _) as [|o [|]] eqn:K'; try easy. exists v, qs, o. repeat split; auto.
  unfold delivers in M. destruct o as [c' t'|h]; [easy|]. now apply N.eqb_eq in M.
Qed.

Definition quiet (x : State) : Prop := at_rest T W x.

(** ** What a yes of [check_wave] means *)

(** In every interleaving of lines and frames: no deadlock; no frame that goes round; if hosts pause, a bounded number of
    moves is left; once nothing can move, the network is empty; and each frame between hosts is received exactly once, by
    its host alone. *)
Theorem check_wave_sound x : run T W sending x ->
  (flying x <> [] -> exists a k b y, move T W a k b x y /\ first_of_buffer a k) /\
  (forall k, In k (flying x) -> NoDup (path k)) /\
  (exists most, forall m y, after T W m x y -> m <= most) /\
  (at_rest T W x -> flying x = []) /\
  (forall f d, In f (sent x) -> dest f = To d -> In d (hosts n) ->
     times_heard x d f <= 1 /\ (forall h, h <> d -> times_heard x h f = 0) /\ (gone x f -> times_heard x d f = 1)).
Proof.
  intros R. pose proof check_rises as Ri. pose proof wires as Wi. split; [|split; [|split; [|split]]].
  - eapply no_deadlock; eauto.
  - intros k I. eapply no_loop; eauto.
  - eapply moves_end; eauto.
  - eapply at_rest_is_empty; eauto.
  - intros f d I D Id. eapply unicast_once; eauto. now apply check_one_way.
Qed.

(** ** What a yes of [check_change] means *)

Lemma hosts_nodup : NoDup (hosts n).
Proof.
  unfold hosts, items. rewrite map_map. cbn.
  pose proof (PositiveMap.elements_3w (hosts_at n)) as N. revert N. generalize (PositiveMap.elements (hosts_at n)).
  intros l N. induction N as [|e l Ne N IH]; [constructor|]. cbn. constructor; [|exact IH].
  intros I. apply Ne. apply in_map_iff in I. destruct I as (e' & E & I).
  assert (N.pos (fst e') = N.pos (fst e)) as E'. { rewrite <- !N.succ_pos_pred. now rewrite E. }
  injection E' as E'.
  apply SetoidList.InA_alt. exists e'. split; [|easy]. now symmetry.
Qed.

Section Change.
Context (bounds : Bounds) (sure_of : Host -> States).
Hypothesis Fit : change_broadcasts_fit n (topology n (fun _ _ => 1)) (states Broadcast) bounds sure_of = true.

Lemma fit_parts :
  ((forall e, In e (items (configs_of n)) -> floods_all n e = true) \/
   (forall b, In b (hosts n) -> heard_surely n (topology n (fun _ _ => 1)) (sure_of b) b = true)) /\
  (forall e, In e (all_states (states Broadcast)) ->
     bound_fits n (topology n (fun _ _ => 1)) (N.of_nat (length (hosts n))) bounds e = true) /\
  (forall e, In e (items (hosts_at n)) -> N.ltb (bound_at bounds (snd e) None) (N.of_nat (length (hosts n))) = true).
Proof.
  pose proof Fit as F. unfold change_broadcasts_fit in F. cbv zeta in F.
  rewrite !andb_true_iff, orb_true_iff, !forallb_forall in F. tauto.
Qed.

Lemma change_floods_plainly :
  (forall e, In e (items (configs_of n)) -> floods_all n e = true) -> floods_plainly T W.
Proof.
  intros F s k p t v L C. destruct (configs n s) as [|c0 l] eqn:Ec.
  - rewrite holds_nothing, off_drops in C by easy. easy.
  - destruct (holds s k L) as (c & I & E); [now rewrite Ec|]. rewrite E.
    assert (In (s, configs n s) (items (configs_of n))) as Is.
    { unfold configs in *. destruct (look s (configs_of n)) as [l'|] eqn:El; [now apply look_items|easy]. }
    apply F in Is. unfold floods_all in Is. cbn [fst snd] in Is. rewrite forallb_forall in Is. apply Is in I.
    rewrite andb_true_iff, !forallb_forall in I. destruct I as (Fl & Ne). split; [exact Fl|].
    cbn. destruct (look2 v 0 (its_entries c)) as [qs|] eqn:Eq; [|easy]. apply look2_items, Ne in Eq. easy.
Qed.

Lemma change_heard f x b : run T W sending x -> In f (sent x) -> dest f = Broadcast -> gone x f ->
  In b (hosts n) -> b <> source f -> 1 <= times_heard x b f.
Proof.
  intros R I D Go Ib Ne. destruct fit_parts as ([F|F] & _).
  - apply (wave T W sending (hosts n) rank wires) with (x := x); auto.
    + split; [exact check_rises|exact check_one_way|exact (change_floods_plainly F)].
    + intros a b' t _ Nb (-> & _). split; [easy|]. now intros [= ->].
  - specialize (F b Ib). unfold heard_surely in F. rewrite andb_true_iff, !forallb_forall in F. destruct F as (F1 & F2).
    eapply broadcast_kept with (Surely := fun c t => has (sure_of b) c t = true) (W := W) (S := sending) (T := T); eauto.
    + intros s p t P (-> & _). cbn in P. apply host_port, look_items, F1 in P. cbn [fst snd] in P.
      rewrite orb_true_iff, N.eqb_eq in P. destruct P as [P|P]; [congruence|exact P].
    + intros s p t k outs H _ L De. apply has_in, F2 in H. cbn [fst snd] in H. apply andb_true_iff in H.
      destruct H as (Ec & H). rewrite forallb_forall in H.
      destruct (holds s k L) as (c & Ic & E); [now destruct (configs n s)|]. rewrite E in De.
      apply broadcast_decision in De. apply H, existsb_exists in Ic. destruct Ic as (o & Io & So).
      change (floods_to (topology n (fun _ _ => 1)) (config_of c) s p t) with (floods_to T (config_of c) s p t) in Io.
      exists o. split; [now subst outs|]. destruct o as [c' t'|h]; [exact So|]. now apply N.eqb_eq in So.
Qed.

Definition most (c : Chan) (t : Tag) : nat := N.to_nat (bound_at bounds c t).

Lemma bounds_values l : N.to_nat (bounds_of bounds l) = values most (fun _ => 1) l.
Proof.
  induction l as [|o l IH]; [easy|]. unfold values in *. cbn [map bounds_of fold_right]. rewrite sum_cons, <- IH.
  rewrite N2Nat.inj_add. f_equal. now destruct o.
Qed.

Lemma change_bounded : bounded T W sending (length (hosts n)) most.
Proof.
  intros s p t k outs M L D. apply may_has in M. cbn [stands_for] in M. apply broadcast_decision in D. subst outs.
  destruct (configs n s) as [|c0 l] eqn:Ec.
  - rewrite holds_nothing by easy. unfold floods_to. rewrite off_drops. cbn. lia.
  - destruct (holds s k L) as (c & I & E); [now rewrite Ec|]. rewrite E. destruct fit_parts as (_ & F & _).
    apply has_in, F in M. unfold bound_fits in M. rewrite forallb_forall in M. apply M in I. cbn [fst snd] in I.
    change (floods_to (topology n (fun _ _ => 1)) (config_of c) s p t) with (floods_to T (config_of c) s p t) in I.
    apply N.leb_le in I. rewrite <- bounds_values. unfold most. lia.
Qed.

(** In every interleaving, each broadcast is received exactly once by each other host, and never by its sender. *)
Theorem check_change_sound x f : run T W sending x -> In f (sent x) -> dest f = Broadcast -> In (source f) (hosts n) ->
  gone x f -> forall h, In h (hosts n) -> times_heard x h f = if N.eqb h (source f) then 0 else 1.
Proof.
  intros R I D Is Go h Ih.
  apply (exactly_once T W sending f (length (hosts n)) most D change_bounded) with (hosts := hosts n); auto.
  - intros s p t P (-> & _). cbn in P. apply host_port in P. apply look_items in P.
    destruct fit_parts as (_ & _ & F). apply F in P. cbn [snd] in P. apply N.ltb_lt in P. unfold most. lia.
  - exact hosts_nodup.
  - intros h' I' Ne. now apply change_heard.
Qed.

End Change.

(** ** What a yes of [check_still] means *)

Hypothesis Still : forallb (fun e => match snd e with [_] => true | _ => false end) (items (configs_of n)) = true.
Hypothesis Broadcasts : broadcasts_fit n (topology n (fun _ _ => 1)) = true.

Lemma is_still : still W.
Proof.
  intros s. cbn. unfold configs. destruct (look s (configs_of n)) as [l|] eqn:E; [|easy].
  rewrite forallb_forall in Still. apply look_items, Still in E. cbn in E. now destruct l as [|c [|]].
Qed.

Lemma flood_rooms fuel : forall c t, flood (topology n (fun _ _ => 1)) W fuel c t = flood T W fuel c t.
Proof.
  induction fuel as [|k IH]; intros c t; [easy|]. cbn [flood].
  change (floods_to (topology n (fun _ _ => 1)) (before W (fst c)) (fst c) (snd c) t)
    with (floods_to T (before W (fst c)) (fst c) (snd c) t).
  apply flat_map_ext. intros [c' t'|h]; [apply IH|easy].
Qed.

Lemma rank_at_most c : rank c <= N.to_nat (top_rank n).
Proof.
  unfold rank, rank_of. destruct (look2 _ _ _) as [r|] eqn:E; [|lia]. apply look2_items in E.
  destruct parts as (A & _). unfold well_formed in A. rewrite !andb_true_iff, !forallb_forall in A.
  destruct A as ((_ & A) & _). apply A in E. cbn in E. apply N.leb_le in E. lia.
Qed.

Lemma put_same {A} k (a : A) m : look k (put k a m) = Some a.
Proof. apply PositiveMap.gss. Qed.

Lemma put_other {A} k k' (a : A) m : k <> k' -> look k (put k' a m) = look k m.
Proof. intros Ne. apply PositiveMap.gso. intros E. apply Ne. rewrite <- (N.pos_pred_succ k), E. apply N.pos_pred_succ. Qed.

Lemma all_new_sound l : forall seen, all_new n seen l = true ->
  NoDup l /\ (forall h, In h l -> In h (hosts n) /\ look h seen = None).
Proof.
  induction l as [|h l IH]; intros seen H; [split; [constructor|easy]|].
  cbn in H. apply andb_true_iff in H. destruct H as (K & H). destruct (look h seen) eqn:E; [easy|].
  apply IH in H. destruct H as (N & H).
  assert (~ In h l) as Nh. { intros I. apply H in I. destruct I as (_ & I). now rewrite put_same in I. }
  split; [now constructor|]. intros h' [<-|I]; [now apply known_host in K|].
  assert (h' <> h) by (intros ->; auto). apply H in I. now rewrite put_other in I.
Qed.

Lemma occurs_once b l : NoDup l -> occurs b l = if in_dec N.eq_dec b l then 1 else 0.
Proof.
  unfold occurs, is. induction 1 as [|h l Nh Nd IH]; [easy|]. cbn [map]. rewrite sum_cons, IH.
  destruct (N.eqb_spec h b) as [->|Ne].
  - destruct (in_dec N.eq_dec b l); [easy|]. destruct (in_dec N.eq_dec b (b :: l)) as [|No]; [easy|].
    exfalso. apply No. now left.
  - destruct (in_dec N.eq_dec b l) as [I|I], (in_dec N.eq_dec b (h :: l)) as [J|J]; try easy; exfalso.
    + apply J. now right.
    + now destruct J.
Qed.

Theorem check_still_sound x f : run T W sending x -> In f (sent x) -> dest f = Broadcast -> In (source f) (hosts n) ->
  gone x f -> forall h, times_heard x h f = if N.eqb h (source f) then 0 else if known n h then 1 else 0.
Proof.
  intros R I D Is Go h.
  pose proof Is as K. apply known_host in K. unfold known in K.
  destruct (look (source f) (hosts_at n)) as [c|] eqn:E; [|easy]. clear K.
  destruct (broadcast_counted T W sending rank (N.to_nat (top_rank n)) f is_still check_rises) with
    (c0 := c) (t0 := @None Vlan) (fuel := Datatypes.S (N.to_nat (top_rank n))) (x := x) (b := h) as (_ & B); auto.
  - intros c' t d _. apply rank_at_most.
  - intros s p t P (-> & _). split; [|easy]. cbn in P. apply host_port in P. congruence.
  - rewrite (B Go). clear B. pose proof Broadcasts as B. unfold broadcasts_fit in B. rewrite forallb_forall in B.
    pose proof (look_items _ _ _ E) as Ei. apply B in Ei. cbv beta zeta in Ei. cbn [fst snd] in Ei.
    rewrite flood_rooms in Ei. fold W in Ei.
    set (l := flood T W (Datatypes.S (N.to_nat (top_rank n))) c None) in *. clearbody l.
    unfold heard_by_others in Ei. apply andb_true_iff in Ei. destruct Ei as (A & L). apply Nat.eqb_eq in L.
    apply all_new_sound in A. destruct A as (N & A). rewrite occurs_once by easy.
    assert (~ In (source f) l) as Ns. { intros J. apply A in J. destruct J as (_ & J). now rewrite put_same in J. }
    assert (incl (hosts n) (source f :: l)) as Inc.
    { apply NoDup_length_incl; [now constructor|cbn; lia|]. intros b [<-|J]; [easy|]. now apply A. }
    destruct (N.eqb_spec h (source f)) as [->|Ne].
    + now destruct (in_dec N.eq_dec (source f) l).
    + destruct (known n h) eqn:K.
      * apply known_host in K. apply Inc in K. destruct K as [K|K]; [congruence|].
        now destruct (in_dec N.eq_dec h l).
      * destruct (in_dec N.eq_dec h l) as [J|]; [|easy]. apply A in J. destruct J as (J & _).
        apply known_host in J. congruence.
Qed.

End Sound.
