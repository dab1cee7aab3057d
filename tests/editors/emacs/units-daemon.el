;;; units-daemon.el --- Unit tests of the Emacs package  -*- lexical-binding: t; -*-
;;; Commentary:
;; The daemon: signing in, its program, the connection and the log.
;;; Code:
(require 'units)

;;; Sign-in

(ert-deftest units-a-sign-in-without-a-code-shows-the-host ()
  (let ((kill-ring nil))
    (should (equal (seq-take (jumpseat-account--describe-prompt
                              '(:provider "mcp:github" :verificationUri "https://x/y" :host "x"))
                             4)
                   '("Sign in to github" "" "Page:  https://x/y" "Host:  x")))
    (should-not kill-ring)
    (should (member "Code:  AB-1" (jumpseat-account--describe-prompt
                                   '(:provider "copilot" :verificationUri "https://x/y"
                                     :userCode "AB-1"))))
    (should (equal kill-ring '("AB-1")))))

;;; Programs

(ert-deftest units-nothing-is-offered-while-the-daemon-is-being-installed ()
  (let ((jumpseat-install--running t)
        (jumpseat-command nil)
        said)
    (cl-letf (((symbol-function 'jumpseat--program) #'ignore)
              ((symbol-function 'jumpseat--ui-choose) (lambda (&rest _) (push 'offer said)))
              ((symbol-function 'jumpseat--say) (lambda (text &rest _) (push text said))))
      (jumpseat-install--offer-after (jumpseat-rpc--make-missing-error) nil))
    (should (equal said '("jumpseat is being installed: send the question again afterwards.")))))

(defun units-run (&rest command)
  "Return the arguments with which `jumpseat--run-process' reports the end of COMMAND."
  (let (ended)
    (jumpseat--run-process command (lambda (&rest result) (setq ended result)))
    (with-timeout (10)
      (while (null ended) (accept-process-output nil 0.05)))
    ended))

(ert-deftest units-a-program-that-reads-its-input-does-not-wait-for-ever ()
  (should (equal (units-run "sh" "-c" "read x || echo nothing; exit 3") '(3 "nothing"))))

(ert-deftest units-a-missing-program-is-reported ()
  (should (string-match-p "no-such-program" (nth 1 (units-run "no-such-program")))))

;;; The connection

(ert-deftest units-an-error-in-one-call-does-not-hold-up-the-others ()
  (let (called)
    (jumpseat--inbox-add #'error "Broken")
    (jumpseat--inbox-add (lambda (each) (push each called)) 1)
    (jumpseat--inbox-add (lambda (each) (push each called)) 2)
    (let ((debug-on-error nil)) (jumpseat-inbox--drain))
    (should (equal called '(2 1)))))

(ert-deftest units-a-sentence-has-the-message-and-the-hint ()
  (should (equal (jumpseat--format-error (jumpseat--make-failure "config" "It broke." "Fix it."))
                 "It broke. Fix it."))
  (should (equal (jumpseat--format-error '(:message "It broke.")) "It broke.")))

;; If Emacs failed on this file, the user could not even install the daemon again.
(ert-deftest units-a-corrupt-record-of-the-installation-is-ignored ()
  (let ((user-emacs-directory (make-temp-file "units" t)))
    (make-directory (jumpseat--install-directory) t)
    (dolist (content (list "" "{" "3" "[]" (format "{\"key\": \"%s\"}" jumpseat-version)))
      (write-region content nil (expand-file-name "current.json" (jumpseat--install-directory))
                    nil 'silent)
      (should-not (jumpseat--installed-program)))
    (delete-directory user-emacs-directory t)))

(ert-deftest units-the-program-is-looked-for-on-this-machine ()
  (let ((default-directory "/ssh:nowhere.invalid:/home/"))
    (should (equal (jumpseat--local-directory) (expand-file-name "~/")))
    (should (jumpseat--find-program "sh"))))

;;; The log

(defmacro units-with-log (limit &rest body)
  "Run BODY with an empty log of at most LIMIT characters."
  (declare (indent 1))
  `(let ((jumpseat--log-buffer (generate-new-buffer-name "log"))
         (jumpseat-log-limit ,limit))
     (unwind-protect (progn ,@body)
       (kill-buffer jumpseat--log-buffer))))

(defun units-log ()
  "Return the lines of the log without their times."
  (with-current-buffer jumpseat--log-buffer
    (split-string (replace-regexp-in-string "^[-0-9]+T[:0-9]+ " "" (buffer-string)) "\n" t)))

(ert-deftest units-the-oldest-lines-of-the-log-are-removed ()
  (units-with-log 100
    (dotimes (number 50) (jumpseat--log-write "line %d" number))
    (should (equal (units-log) '("line 47" "line 48" "line 49")))))

(ert-deftest units-the-end-of-a-line-that-is-longer-than-the-log-is-kept ()
  (units-with-log 100
    (jumpseat--log-write "short")
    (jumpseat--log-write "%s end" (make-string 1000 ?x))
    (should (equal (units-log) (list (concat (make-string 95 ?x) " end"))))))

(ert-deftest units-a-log-without-a-limit-keeps-all-of-it ()
  (units-with-log nil
    (dotimes (number 50) (jumpseat--log-write "line %d" number))
    (should (= 50 (length (units-log))))))

(ert-deftest units-a-person-who-reads-a-full-log-stays-at-the-line ()
  (units-with-log 100
    (dotimes (number 5) (jumpseat--log-write "line %d" number))
    (with-current-buffer jumpseat--log-buffer
      (goto-char (point-max))
      (search-backward "line 4")
      (narrow-to-region (line-beginning-position) (line-end-position))
      (jumpseat--log-write "line 5")
      (should (looking-at "line 4\\'"))
      (widen))
    (should (equal (units-log) '("line 3" "line 4" "line 5")))))

(provide 'units-daemon)
;;; units-daemon.el ends here
